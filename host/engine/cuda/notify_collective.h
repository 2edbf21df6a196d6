// host/engine/cuda/notify_collective.h: who is notified of each collective before its data move.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/api/host_api.h"

namespace rtrain {

struct NotifyCollective {
  // Gives the collective's number in the order of this rank's calls, 0 where they are not counted.
  // Throws where another rank has called another one at this place.
  std::function<uint64_t(const std::string& operation, const std::vector<at::Tensor>& tensors)>
      begin;
  const HostApi* host = nullptr;  // which counts the time of the caller's thread in the call
};

}  // namespace rtrain
