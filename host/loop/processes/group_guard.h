// host/loop/processes/group_guard.h: a small process that kills process groups when this process
// has died.
//
// PDEATHSIG ends a worker whose controller is gone, but not what the worker has started (see
// descendants.h). The guard waits at one end of a socket whose other end only this process holds:
// the kernel closes it, however the process ends. A group's number stays its own while one of its
// processes is there.
//
// Belongs to the loop's thread.
#pragma once

#include <memory>

#include "host/loop/processes/descendants.h"
#include "host/loop/processes/process.h"

namespace rtrain::loop {

class GroupGuard {
 public:
  // Starts the process, `FILE --guard MARK CGROUP`. Throws Error(kEnvironment).
  GroupGuard(Loop& loop, const std::string& file, const Descendants& descendants);
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  void add(int group);
  // Before the group's leader is reaped.
  void del(int group);

 private:
  void write(int number);

  int socket_ = -1;
  std::unique_ptr<Process> process_;
};

// The guard's main function: its end of the socket is descriptor 3. Returns its exit code.
int run_group_guard(const std::string& mark, const std::string& cgroup);

}  // namespace rtrain::loop
