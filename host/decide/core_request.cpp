#include "host/decide/core_request.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::decide {

CoreRequest::CoreRequest(int min_workers, int max_workers, int cores_per_worker)
    : min_workers_(min_workers), max_workers_(max_workers), cores_per_worker_(cores_per_worker) {}

CoreRequest::Amount CoreRequest::amount(int offered) const {
  if (!shares()) return {min_workers_ * unit(), max_workers_ * unit()};
  const int cores = std::clamp(offered, 1, max_workers_);
  return {cores, cores};
}

int CoreRequest::workers(int cores) const {
  return is_elastic() ? std::min(cores / unit(), max_workers_) : max_workers_;
}

std::optional<Error> CoreRequest::impossible(int host_cores) const {
  const int needed = min_workers_ * unit();
  if (shares() || needed <= host_cores) return std::nullopt;
  const std::string what =
      is_elastic() ? cat("at least ", min_workers_, " workers") : cat(min_workers_, " workers");
  return Error(Code::kEnvironment,
               cat(what, " of ", unit(), unit() == 1 ? " core" : " cores", " need ", needed,
                   " cores, this node has ", host_cores,
                   ": ask for fewer workers, or for fewer CPUs in resources_per_worker"));
}

bool CoreRequest::is_crowded(int offered) const {
  return shares() && max_workers_ > std::max(1, offered);
}

}  // namespace rtrain::decide
