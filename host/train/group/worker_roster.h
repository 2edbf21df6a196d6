// host/train/group/worker_roster.h: the workers of one attempt as the store knows them: who ran
// where, and how each ended.
//
// Belongs to the control thread. What changes is written at once, but for add().
#pragma once

#include <string>
#include <vector>

#include "host/train/group/worker_group.h"
#include "host/train/io_calls.h"

namespace rtrain {

class WorkerRoster {
 public:
  WorkerRoster(IoCalls& io, int attempt);

  // The next rank, on this host, with the numbers of its GPUs.
  void add(int pid, const std::vector<int>& gpus);
  void set_pid(int rank, int pid);
  void set_gpus(int rank, const std::vector<int>& gpus);
  void set_gone(int rank, const WorkerEnd& end);
  bool is_gone(int rank) const { return is_gone_.at(static_cast<size_t>(rank)); }
  int size() const { return static_cast<int>(rows_.size()); }
  void write();

 private:
  IoCalls& io_;
  int attempt_;
  std::string host_;
  std::vector<WorkerRow> rows_;  // by rank
  std::vector<bool> is_gone_;
};

}  // namespace rtrain
