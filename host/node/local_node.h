// host/node/local_node.h: the node that runs in this process: its workers, their pages and their
// devices.
//
// Belongs to the loop's thread. Must not be destroyed from inside a call of its delegate.
#pragma once

#include <functional>
#include <memory>

#include "host/node/series/gpu_monitor.h"
#include "host/node/series/process_monitor.h"
#include "host/node/workers/death_watch.h"
#include "host/node/workers/host_watch.h"
#include "host/node/workers/node.h"
#include "host/node/workers/worker_endpoints.h"
#include "host/node/workers/worker_group.h"
#include "host/node/workers/worker_place.h"
#include "host/pages/commit_board.h"
#include "host/pages/progress_board.h"

namespace rtrain::node {

// Files and helpers for a node's workers.
struct NodeFiles {
  int functions_fd = -1;  // the train function and its config, serialized
  int engine_fd = -1;
  Zygote* zygote = nullptr;              // from which workers are forked; may be null
  WorkerEndpoints* endpoints = nullptr;  // with NodeOrder.local: of existing workers
};

// Its methods are those of Node and of the delegates of what it owns.
class LocalNode : public Node,
                  public WorkerGroupDelegate,
                  public GpuMonitorDelegate,
                  public ProcessMonitorDelegate {
 public:
  // `places`, and the objects that `files` points to, must outlive it.
  LocalNode(loop::Loop& loop, const NodeOrder& order, const NodeFiles& files,
            const WorkerPlaces& places, NodeDelegate& delegate);

  // Its workers end by themselves when boot_s() passes `until_s`, unless a later time is set
  // before.
  void set_lease(double until_s);

  void spawn() override;
  void send(int rank, std::string_view frame) override;
  void set_attached(int rank, int pid) override;
  void drain() override { group_.drain(); }
  void hold_output(bool held) override;
  void kill() override;
  void close() override;
  bool replaces() const override { return !order_.is_local; }
  void hand_over(NodeDelegate& delegate) override;
  void replace(int rank) override;
  void make_spare(std::string_view frame) override;
  bool has_spare() const override { return group_.has_spare(); }
  void drop_spare() override { group_.drop_spare(); }
  void kill(int rank) override { group_.kill(rank); }
  void leave_out(int rank) override;
  void keep(int rank, uint64_t step, std::string_view bytes) override;
  void set_others_ready(uint64_t step) override { commits_.set_others_ready(step); }
  void set_others_lost() override { commits_.set_others_lost(true); }
  decide::RankFacts facts(int rank) const override;
  uint64_t copied_bytes() const override { return board_.copied_bytes(); }
  double clock_offset_s() const override { return 0; }

  // Like WorkerGroup::refuse.
  void refuse(int rank, const std::string& reason) { group_.refuse(rank, reason); }

 private:
  void on_started(int rank) override;
  void on_frame(int rank, std::string frame) override;
  void on_output(int rank, OutputStream stream, std::string_view bytes) override;
  void on_gone(int rank, const WorkerEnd& end) override;
  void on_series(store::SeriesChunk chunk) override { delegate_->on_series(std::move(chunk)); }
  void on_device_fault(const DeviceFault& fault) override { delegate_->on_device_fault(fault); }
  void on_device_state(int rank, const machine::GpuState& state) override;
  int pid(int rank) const override { return group_.pid(rank); }
  int living_pid(int rank) const override;

  std::vector<WorkerGpu>& gpus_of(int rank) {
    return gpus_of_.at(static_cast<size_t>(rank - order_.first_rank));
  }
  bool is_started(int rank) const { return rank < order_.first_rank + group_.size(); }
  WorkerGroupOptions group_options(const NodeFiles& files, const WorkerPlaces& places) const;
  void add_interfaces(std::vector<std::pair<std::string, std::string>>& env) const;
  bool start(int rank, const std::function<void(const WorkerPlace& place)>& spawn);
  void on_dying(int rank);
  void offer_endpoints();
  // Of the largest rank that lives.
  int64_t rank_bytes() const;
  bool affords_spare(int64_t bytes);
  WorkerPlace place_of(int rank) const;
  WorkerPlace place_of_spare() const;

  NodeOrder order_;
  WorkerEndpoints* endpoints_;
  const WorkerPlaces& places_;
  NodeDelegate* delegate_;
  int threads_;  // for each worker
  int64_t oom_kills_before_;
  bool holds_output_ = false;
  pages::ProgressBoard board_;
  pages::CommitBoard commits_;
  std::vector<bool> is_gone_;
  std::vector<std::vector<WorkerGpu>> gpus_of_;  // by local rank
  DeathWatch deaths_;
  GpuMonitor gpus_;
  ProcessMonitor processes_;
  mutable HostWatch host_;  // it remembers what it has read
  WorkerGroup group_;
};

}  // namespace rtrain::node
