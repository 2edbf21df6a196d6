// host/train/core_broker.h: gets the cores of a run, waiting where others have them, and says so.
//
// Belongs to the control thread; the files of the leases are touched on the io thread. A run of
// fixed size keeps its cores to the end; an elastic one asks anew for each attempt. Where leases do
// not work (no runtime folder) a notice says so and the run goes on without.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/lease.h"
#include "host/loop/loop.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/train/core_request.h"
#include "host/train/run_spec.h"
#include "host/train/worker_group.h"

namespace rtrain {

// The error of a run that this host can never hold. Also false where there is no runtime folder.
std::optional<Error> impossible_request(const RunSpec& spec);

class CoreBroker {
 public:
  using Notice = std::function<void(const std::string& text)>;
  struct Seams {
    const RunSpec& spec;
    Loop& loop;
    TaskThread& io;
  };
  CoreBroker(const Seams& seams, Notice notice);
  // The io thread has to be idle.
  ~CoreBroker();

  // Calls back with the number of workers that the cores held are for.
  void request(std::function<void(int workers)> on_granted);
  // No answer is wanted any more.
  void cancel();
  // Calls back with the number of workers that could run now, those that do included.
  void look(std::function<void(int workers)> on_seen);

  // The cores of one of so many workers, its own where there are enough. It is bound to them where
  // the run said how many it needs.
  WorkerPlace place(int rank, int num_workers) const;

 private:
  struct Answer {
    std::optional<std::vector<CoreLease::Core>> cores = std::nullopt;  // nothing: wait
    int offered = 0;
    std::string waiting_for = {};
    std::string trouble = {};  // there are no leases
  };
  static Answer take(CoreLease& lease, const CoreRequest& request);
  void ask();
  void on_answer(const Answer& answer);
  void tell_waiting(const std::string& text);
  std::vector<CoreLease::Core> share(int rank, int num_workers) const;

  Seams seams_;
  CoreRequest request_;
  Notice notice_;
  std::unique_ptr<CoreLease> lease_;  // on the io thread
  std::function<void(int)> on_granted_;
  std::vector<CoreLease::Core> cores_;
  bool held_ = false;
  bool without_ = false;  // leases do not work here
  double waiting_since_s_ = 0;
  double next_notice_s_ = 0;
  Timer poll_;
};

}  // namespace rtrain
