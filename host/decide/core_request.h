// host/decide/core_request.h: how many cores a run asks for, and how many workers they are
// for. Pure.
//
// Each worker counts for resources_per_worker.CPU cores, or for one. Where that was not said, more
// workers than cores share what is offered; an elastic run and one that said it get no fewer.
#pragma once

#include <optional>

#include "host/base/error.h"

namespace rtrain::decide {

class CoreRequest {
 public:
  // cores_per_worker 0: not said.
  CoreRequest(int min_workers, int max_workers, int cores_per_worker);

  struct Amount {
    int min;
    int max;
  };
  Amount amount(int offered) const;
  // The workers that this many cores are for.
  int workers(int cores) const;
  // The cores of an elastic group of this size.
  int amount_for(int workers) const { return workers * unit(); }

  // The error of a request that this node can never fulfil, with the numbers.
  std::optional<Error> impossible(int host_cores) const;
  // More workers than cores: it works, and slowly.
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
