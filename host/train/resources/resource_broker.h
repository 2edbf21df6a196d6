// host/train/resources/resource_broker.h: leases the cores and GPUs of a run, waits while other
// runs have them, and reports that.
//
// Belongs to the control thread; lease files are accessed on the io thread. A run of fixed size
// keeps its lease to the end; an elastic one requests a new one for each attempt. If leases are not
// possible (no runtime folder) or not wanted (RunSpec.oversubscribe), a notice says so and the run
// continues without one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/loop/loop.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/machine/leases/lease.h"
#include "host/node/local_node.h"
#include "host/node/workers/worker_place.h"
#include "host/train/resources/resource_request.h"
#include "host/train/resources/resources.h"
#include "host/train/resources/run_gpus.h"
#include "host/train/run/run_spec.h"

namespace rtrain::train {

// The error for a run whose request this node can never satisfy. nullopt also without a runtime
// folder.
std::optional<Error> impossible_request(const RunSpec& spec);

class ResourceBroker : public Resources, public node::WorkerPlaces {
 public:
  using Notice = std::function<void(const std::string& text)>;

  // `files`: what workers inherit.
  ResourceBroker(const RunSpec& spec, loop::Loop& loop, loop::TaskThread& io,
                 const node::NodeFiles& files, Notice notice);
  // REQUIRES: the io thread is idle.
  ~ResourceBroker() override;

  void request(std::function<void(int workers)> on_granted) override;
  void cancel() override;
  double waited_s() const override;
  void look(std::function<void(int workers)> on_seen) override;
  NodeGroup nodes(const node::NodeOrder& order, node::NodeDelegate& delegate) override;

  // The worker's own cores, if there are enough, and its GPUs. The worker is bound to the cores if
  // the run has specified how many it needs.
  node::WorkerPlace place(int rank, int num_workers) const override;
  std::optional<std::string> visible_devices() const override;

 private:
  struct Answer {
    std::optional<ResourceRequest::Grant> grant = std::nullopt;  // nullopt: wait
    std::vector<machine::NodeLease::Core> cores = {};
    std::vector<int> gpu_fds = {};
    int offered = 0;
    std::string waiting_for = {};
    std::string ways_out = {};
    std::string without = {};  // why the run has no lease
  };
  Answer take();
  // The run's resources without sharing.
  ResourceRequest::Grant whole_node(int offered) const;
  machine::LeaseCapacity all_gpus(int cores) const;
  void ask();
  void on_answer(const Answer& answer);
  void tell_waiting(const Answer& answer);
  void tell_crowd(int workers, int offered);
  void end_waiting();
  void add_gpus(int rank, node::WorkerPlace& place) const;
  std::vector<machine::NodeLease::Core> share(int rank, int num_workers) const;
  // All workers' devices together, lowest first.
  std::vector<int> used_gpus() const;

  const RunSpec& spec_;
  loop::Loop& loop_;
  loop::TaskThread& io_;
  node::NodeFiles files_;
  ResourceRequest request_;
  RunGpus gpus_;  // that the run may use
  Notice notice_;
  std::unique_ptr<machine::NodeLease> lease_;  // used on the io thread
  std::function<void(int)> on_granted_;
  std::vector<machine::NodeLease::Core> cores_;
  machine::GpuPlaces gpu_places_;
  std::vector<int> gpu_fds_;  // in the order of workers and their devices
  bool held_ = false;
  bool without_ = false;  // it has no lease
  std::optional<double> waiting_since_s_;
  double waited_s_ = 0;
  double next_notice_s_ = 0;
  loop::Timer poll_;
};

}  // namespace rtrain::train
