// host/node/workers/host_watch.h: what makes the ranks of this node slow from outside of their
// programs: other programs on their cores, limits, stolen time, memory on a disk.
//
// Belongs to the loop's thread. It reads a few files of /proc and the cgroup for each rank, at most
// once a second.
#pragma once

#include <map>
#include <string>

#include "host/decide/rank_facts.h"

namespace rtrain::node {

class HostWatch {
 public:
  // The facts of the rank with that process.
  const decide::HostFacts& facts(int rank, int pid, double now_s);
  // Why the rank's device runs below its clock; "": it does not.
  void set_slowed_by(int rank, std::string reason) {
    ranks_[rank].facts.slowed_by = std::move(reason);
  }

 private:
  struct Rank {
    decide::HostFacts facts;
    int pid = 0;
    double read_s = 0;
  };

  static void read(int pid, decide::HostFacts& out);

  std::map<int, Rank> ranks_;
};

}  // namespace rtrain::node
