// host/train/group/worker_roster.h: the workers of one attempt as the store knows them: who ran
// where, and how each ended.
//
// Belongs to the control thread. Changes are written at the end of the loop's turn, together:
// many ranks may end at once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/loop/turn_end.h"
#include "host/node/workers/node.h"
#include "host/train/record/io_calls.h"

namespace rtrain {

class WorkerRoster {
 public:
  WorkerRoster(Loop& loop, IoCalls& io, int attempt, int num_workers);

  // The rank has been started on that host.
  void add(int rank, const std::string& host, const SpawnedWorker& worker);
  void set_pid(int rank, int pid);
  void set_gpus(int rank, const std::vector<int>& gpus);
  void set_gone(int rank, const WorkerEnd& end);
  // Neither holds for a rank that was not started.
  bool is_gone(int rank) const { return at(rank).is_gone; }
  bool is_running(int rank) const { return at(rank).row && !at(rank).is_gone; }
  // 0 where it is not known.
  int pid(int rank) const { return at(rank).row ? at(rank).row->pid : 0; }
  int size() const { return static_cast<int>(workers_.size()); }
  // Writes the changes now: later work on the io thread finds it written.
  void write();

 private:
  struct Worker {
    std::optional<WorkerRow> row;
    bool is_gone = false;
  };
  const Worker& at(int rank) const { return workers_.at(static_cast<size_t>(rank)); }
  Worker& at(int rank) { return workers_.at(static_cast<size_t>(rank)); }
  WorkerRow& change(int rank);

  IoCalls& io_;
  int attempt_;
  std::vector<Worker> workers_;  // by rank
  std::set<int> changed_;        // ranks whose rows are not written
  TurnEnd turn_end_;
};

}  // namespace rtrain
