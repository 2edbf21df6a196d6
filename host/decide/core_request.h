// host/decide/core_request.h: how many cores a run requests, and how many workers it starts with
// the cores that it gets. Pure.
//
// A worker needs resources_per_worker.CPU cores, else one. Only a run that sets neither this option
// nor a range of workers may get fewer cores than it has workers: the workers share them.
#pragma once

#include <optional>

#include "host/base/error.h"

namespace rtrain::decide {

class CoreRequest {
 public:
  // cores_per_worker: resources_per_worker.CPU; 0: not set.
  CoreRequest(int min_workers, int max_workers, int cores_per_worker);

  struct Amount {
    int min;
    int max;
  };
  Amount amount(int offered) const;
  // The number of workers that a run starts when it holds this many cores.
  int workers(int cores) const;
  // The number of cores that an elastic group of this size needs.
  int amount_for(int workers) const { return workers * unit(); }

  // The error of a request that a node with this many cores can never grant; else nullopt.
  std::optional<Error> impossible(int host_cores) const;
  // Whether more workers than cores share the node: the run works, but it is slow.
  bool is_crowded(int offered) const;

 private:
  bool is_elastic() const { return min_workers_ != max_workers_; }
  bool shares() const { return !is_elastic() && cores_per_worker_ == 0; }
  int unit() const { return cores_per_worker_ == 0 ? 1 : cores_per_worker_; }

  int min_workers_;
  int max_workers_;
  int cores_per_worker_;
};

}  // namespace rtrain::decide
