// host/engine/distributed/gloo/gloo_connections.h: the sockets that Gloo has opened for a group, so
// that its waits can be ended from outside.
//
// Gloo itself offers no such thing: a rank that waits for one whose host is gone would wait for its
// deadline, and so would those that wait for it. A socket that is shut down looks to Gloo like a
// peer that has gone. Gloo does not say which sockets are its own: they are those that are
// connected between begin() and end(), one of another thread that connects meanwhile too. A second
// descriptor holds each, so that no other file can come in its place.
//
// begin(), end() and release() belong to the group's thread, the rest to any.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "host/base/files/fd.h"

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
  using Calls = std::vector<std::function<void()>>;

  // Every wait for another rank ends with an error, now and later. What was to be called then is
  // returned, and has to be called without a lock.
  [[nodiscard]] Calls cut() noexcept;
  bool is_cut() const;
  // Has the function called when the connections are cut, at once when they are. What it returns is
  // for forget().
  uint64_t on_cut(std::function<void()> call);
  void forget(uint64_t on_cut);
  // Of collectives that Gloo's threads have under way.
  void begin_operation() { ++num_operations_; }
  void end_operation() { --num_operations_; }
  bool has_operations() const { return num_operations_ > 0; }
  // Gloo's own descriptors are the last again: what it closes is closed.
  void release();

 private:
  void take();
  void shut() noexcept;
  void wait_for_readers() const noexcept;

  mutable std::mutex mutex_;
  std::atomic<int> num_operations_ = 0;
  uint64_t num_calls_ = 0;
  std::map<uint64_t, std::function<void()>> calls_;
  bool is_connecting_ = false;
  bool is_cut_ = false;
  std::set<ino_t> known_;  // sockets that were there, and those that were taken
  std::vector<Fd> sockets_;
};

// Those of all groups of the process. Any thread.
void cut_gloo_connections() noexcept;

}  // namespace rtrain
