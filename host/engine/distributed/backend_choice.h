// host/engine/distributed/backend_choice.h: what the CUDA tensors of a group travel over: NCCL, or
// Gloo where ranks share a device, which NCCL refuses. Pure: the same on every rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct BackendChoice {
  bool uses_nccl = false;
  std::string reason;  // why it is Gloo although every rank has a device; else empty
};

// `wanted`: "gloo", "nccl" or "auto", which is NCCL where that is possible. `devices`: by rank the
// UUID of the device, empty for a rank without one. Throws Error(kConfig) where "nccl" is not
// possible.
BackendChoice choose_backend(std::string_view wanted, const std::vector<std::string>& devices);

}  // namespace rtrain
