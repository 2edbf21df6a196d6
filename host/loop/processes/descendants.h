// host/loop/processes/descendants.h: ends what the workers of one group have started and left
// behind, also what has begun a session of its own (`setsid`, daemons).
//
// Where this process may make cgroups below its own, the workers are in one, which the kernel kills
// as a whole (RTRAIN_CGROUP=off: no such group). Elsewhere a variable of the workers' environment,
// which whatever they start inherits, tells their descendants from other processes; one that has
// cleared its environment as well is not found.
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
  // Kills those that are left.
  ~Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

  // The variables for a worker's environment.
  std::pair<std::string, std::string> variable() const;
  // A worker that has just been started.
  void add(int pid) const;
  // SIGKILL to all of them, the workers included. Does not wait for them.
  void kill() const { kill(mark_, cgroup_); }

  // The two arguments with which another process ends them in this one's place.
  std::vector<std::string> to_args() const { return {mark_, cgroup_}; }
  static void end(const std::string& mark, const std::string& cgroup);

 private:
  static void kill(const std::string& mark, const std::string& cgroup);

  std::string mark_;
  std::string cgroup_;  // its folder; empty: there is none
};

}  // namespace rtrain::loop
