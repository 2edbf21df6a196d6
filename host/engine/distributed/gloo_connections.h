// host/engine/distributed/gloo_connections.h: the sockets that Gloo has opened for a group, so that
// its waits can be ended from outside.
//
// Gloo itself offers no such thing: a rank that waits for one whose host is gone would wait for its
// deadline, and so would those that wait for it. A socket that is shut down looks to Gloo like a
// peer that has gone. Gloo tells nobody which sockets are its own: they are those that are
// connected between begin() and end(), one of another thread that connects meanwhile too. A second
// descriptor holds each, so that no other file can come in its place.
//
// cut() may be called by any thread, the rest belongs to the group's.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>
#include <vector>

#include "host/base/fd.h"

namespace rtrain {

class GlooConnections {
 public:
  GlooConnections();
  ~GlooConnections();
  GlooConnections(const GlooConnections&) = delete;
  GlooConnections& operator=(const GlooConnections&) = delete;

  // Gloo connects from here on, up to end().
  void begin();
  void end();
  // Every wait for another rank ends with an error, now and later.
  void cut() noexcept;
  bool is_cut() const;
  // Gloo's own descriptors are the last again: what it closes is closed.
  void release();

 private:
  void take();
  void shut() noexcept;

  mutable std::mutex mutex_;
  bool is_connecting_ = false;
  bool is_cut_ = false;
  std::set<ino_t> known_;  // sockets that were there, and those that were taken
  std::vector<Fd> sockets_;
};

// Those of all groups of the process. Any thread.
void cut_gloo_connections() noexcept;

}  // namespace rtrain
