// host/loop/processes/descendants.h: ends the processes that the workers of one group have started
// and left behind, even those in a session of their own (`setsid`, daemons).
//
// Where this process may make cgroups below its own, it puts the workers into one, which the kernel
// kills as a whole (RTRAIN_CGROUP=off: it makes none). Elsewhere a variable in the workers'
// environment, which the processes that they start inherit, tells their descendants from other
// processes. A descendant that has also cleared its environment is not found.
//
// Belongs to one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rtrain::loop {

class Descendants {
 public:
  Descendants();
  // Kills the descendants that are left.
  ~Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

  // Returns the variable for a worker's environment.
  std::pair<std::string, std::string> variable() const;
  // Adds a worker that has just been started.
  void add(int pid) const;
  // Sends SIGKILL to all of them, including the workers. Does not wait for their end.
  void kill() const { kill(mark_, cgroup_); }

  // The two arguments with which another process can call end() instead of this one.
  std::vector<std::string> to_args() const { return {mark_, cgroup_}; }
  static void end(const std::string& mark, const std::string& cgroup);

 private:
  static void kill(const std::string& mark, const std::string& cgroup);

  std::string mark_;
  std::string cgroup_;  // the cgroup's folder; empty: there is no cgroup
};

}  // namespace rtrain::loop
