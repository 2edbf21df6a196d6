// host/train/group/worker_roster.h: the rows of one attempt's workers in the store: where each ran
// and how it ended.
//
// Belongs to the control thread. Changes are written together at the end of the loop's turn,
// because many ranks may end at once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/loop/turn_end.h"
#include "host/node/workers/node.h"
#include "host/train/record/io_calls.h"

namespace rtrain::train {

class WorkerRoster {
 public:
  WorkerRoster(loop::Loop& loop, IoCalls& io, int attempt, int num_workers);

  // The rank was started on that node.
  void add(int rank, const std::string& node_name, const node::SpawnedWorker& worker);
  void set_pid(int rank, int pid);
  void set_gpus(int rank, const std::vector<int>& gpus);
  void set_gone(int rank, const node::WorkerEnd& end);
  // Both are false for a rank that was not started.
  bool is_gone(int rank) const { return at(rank).is_gone; }
  bool is_running(int rank) const { return at(rank).row && !at(rank).is_gone; }
  // 0 if unknown.
  int pid(int rank) const { return at(rank).row ? at(rank).row->pid : 0; }
  int size() const { return static_cast<int>(workers_.size()); }
  // Writes changes now, before later work on the io thread.
  void write();

 private:
  struct Worker {
    std::optional<store::WorkerRow> row;
    bool is_gone = false;
  };
  const Worker& at(int rank) const { return workers_.at(static_cast<size_t>(rank)); }
  Worker& at(int rank) { return workers_.at(static_cast<size_t>(rank)); }
  store::WorkerRow& change(int rank);

  IoCalls& io_;
  int attempt_;
  std::vector<Worker> workers_;  // by rank
  std::set<int> changed_;        // ranks whose rows must be written
  loop::TurnEnd turn_end_;
};

}  // namespace rtrain::train
