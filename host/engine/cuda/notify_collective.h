// host/engine/cuda/notify_collective.h: a callback before each collective moves its data.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/api/host_api.h"

namespace rtrain::engine {

struct NotifyCollective {
  // Returns the collective's number in the order of this rank's calls, 0 if they are not counted.
  // Throws if another rank has called another collective at this position.
  std::function<uint64_t(const std::string& operation, const std::vector<at::Tensor>& tensors)>
      begin;
  const api::HostApi* host =
      nullptr;  // records the time that the calling thread spends in the call
};

}  // namespace rtrain::engine
