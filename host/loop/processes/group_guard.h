// host/loop/processes/group_guard.h: a small process that kills process groups when this process
// has died.
//
// PDEATHSIG ends a worker whose controller has died, but not the processes that the worker has
// started (see descendants.h). The guard waits at one end of a socket. Only this process holds the
// other end, which the kernel closes however the process ends. A group keeps its number while one
// of its processes exists.
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
  // Call this before the group's leader is reaped.
  void del(int group);

 private:
  void write(int number);

  int socket_ = -1;
  std::unique_ptr<Process> process_;
};

// The guard's main function. Descriptor 3 is its end of the socket. Returns its exit code.
int run_group_guard(const std::string& mark, const std::string& cgroup);

}  // namespace rtrain::loop
