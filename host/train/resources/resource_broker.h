// host/train/resources/resource_broker.h: gets the cores and GPUs of a run, waiting where others
// have them, and says so.
//
// Belongs to the control thread; the files of the leases are touched on the io thread. A run of
// fixed size keeps what it has to the end; an elastic one asks again for each attempt. Where leases
// do not work (no runtime folder), or the run is to take none (RunSpec.oversubscribe), a notice
// says so and the run continues without.
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

namespace rtrain {

// The error of a run that this host can never hold. Also false where there is no runtime folder.
std::optional<Error> impossible_request(const RunSpec& spec);

class ResourceBroker : public Resources, public WorkerPlaces {
 public:
  using Notice = std::function<void(const std::string& text)>;

  // `files`: what workers inherit.
  ResourceBroker(const RunSpec& spec, Loop& loop, TaskThread& io, const NodeFiles& files,
                 Notice notice);
  // The io thread has to be idle.
  ~ResourceBroker() override;

  void request(std::function<void(int workers)> on_granted) override;
  void cancel() override;
  double waited_s() const override;
  void look(std::function<void(int workers)> on_seen) override;
  NodeGroup nodes(const NodeOrder& order, NodeDelegate& delegate) override;

  // Cores of its own where there are enough, and its GPUs. It is bound to the cores where the run
  // said how many it needs.
  WorkerPlace place(int rank, int num_workers) const override;
  std::optional<std::string> visible_devices() const override;

 private:
  struct Answer {
    std::optional<ResourceRequest::Grant> grant = std::nullopt;  // nothing: wait
    std::vector<HostLease::Core> cores = {};
    std::vector<int> gpu_fds = {};
    int offered = 0;
    std::string waiting_for = {};
    std::string ways_out = {};
    std::string without = {};  // why the run takes no lease
  };
  Answer take();
  // The resources of the run where nothing is shared with others.
  ResourceRequest::Grant whole_host(int offered) const;
  LeaseCapacity all_gpus(int cores) const;
  void ask();
  void on_answer(const Answer& answer);
  void tell_waiting(const Answer& answer);
  void tell_crowd(int workers, int offered);
  void end_waiting();
  void add_gpus(int rank, WorkerPlace& place) const;
  std::vector<HostLease::Core> share(int rank, int num_workers) const;
  // The union of the workers' devices, lowest first.
  std::vector<int> used_gpus() const;

  const RunSpec& spec_;
  Loop& loop_;
  TaskThread& io_;
  NodeFiles files_;
  ResourceRequest request_;
  RunGpus gpus_;  // that the run may use
  Notice notice_;
  std::unique_ptr<HostLease> lease_;  // on the io thread
  std::function<void(int)> on_granted_;
  std::vector<HostLease::Core> cores_;
  GpuPlaces gpu_places_;
  std::vector<int> gpu_fds_;  // in the order of the workers and their devices
  bool held_ = false;
  bool without_ = false;  // it takes no lease
  std::optional<double> waiting_since_s_;
  double waited_s_ = 0;
  double next_notice_s_ = 0;
  Timer poll_;
};

}  // namespace rtrain
