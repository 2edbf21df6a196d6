// host/engine/distributed/gloo/gloo_connections.h: the sockets that Gloo has opened for a group, so
// that another thread can end its waits.
//
// Gloo offers no way to do so: when a node is lost, a rank that waits for it would wait until the
// deadline, and so would the ranks that wait for that rank. To Gloo a socket that was shut down
// looks like a lost peer. Gloo does not tell which sockets it owns, so this class takes all that
// are connected between begin() and end(), including those of other threads that connect meanwhile.
// It holds a duplicate of each descriptor, so that the number cannot be reused for another file.
//
// begin(), end() and release() belong to the group's thread. Any thread may call the others.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "host/api/link_reading.h"
#include "host/base/files/fd.h"

namespace rtrain::engine {

class GlooConnections {
 public:
  GlooConnections();
  ~GlooConnections();
  GlooConnections(const GlooConnections&) = delete;
  GlooConnections& operator=(const GlooConnections&) = delete;

  // Call begin() before Gloo connects and end() afterwards.
  void begin();
  void end();
  using Calls = std::vector<std::function<void()>>;

  // Makes all waits for other ranks fail, now and later. Returns the callbacks of on_cut(); the
  // caller must run them without holding a lock.
  [[nodiscard]] Calls cut() noexcept;
  bool is_cut() const;
  // Calls the function when the connections are cut, or now if they already are. Returns a number
  // for forget().
  uint64_t on_cut(std::function<void()> call);
  void forget(uint64_t on_cut);
  // Counts the collectives that Gloo's threads are running.
  void begin_operation() { ++num_operations_; }
  void end_operation() { --num_operations_; }
  bool has_operations() const { return num_operations_ > 0; }
  // Adds the connections to other nodes.
  void read(std::vector<api::LinkReading>& out) const;
  // Closes the duplicates, so that a socket is closed when Gloo closes it.
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
  std::set<ino_t> known_;  // sockets that existed before, and those already taken
  std::vector<Fd> sockets_;
};

// Cuts the connections of all groups of the process. Any thread.
void cut_gloo_connections() noexcept;

// Adds the connections of all groups of the process to other nodes. Any thread.
void read_gloo_connections(std::vector<api::LinkReading>& out);

}  // namespace rtrain::engine
