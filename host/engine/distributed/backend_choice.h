// host/engine/distributed/backend_choice.h: chooses the transports of a group's tensors. Pure
// functions with the same result on every rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain::engine {

enum class CpuTransport {
  kShm,      // shared memory if all ranks are on one node, else Gloo
  kOnlyShm,  // an error if ranks are on several nodes
  kGloo,
};

enum class CudaTransport {
  kNcclOrGloo,  // NCCL if every rank has its own device
  kNccl,        // an error if a rank has no device of its own
  kGloo,
  kNone,  // CUDA tensors are an error
};

struct Transports {
  CpuTransport cpu = CpuTransport::kShm;
  CudaTransport cuda = CudaTransport::kNcclOrGloo;
};

// Parses a backend's name as in TorchConfig: "cpu:shm,cuda:nccl", "cpu:shm,cuda:gloo",
// "cpu:gloo,cuda:nccl", "shm", "gloo", "nccl". Throws Error(kArgument) for any other name.
Transports transports_of(std::string_view backend);

struct CudaChoice {
  bool uses_nccl = false;
  std::string reason;  // why Gloo was chosen although every rank has a device; else empty
};

// `devices`: each rank's device UUID, empty for a rank without a device. Throws Error(kConfig) if
// NCCL is required but not possible.
CudaChoice choose_cuda(CudaTransport wanted, const std::vector<std::string>& devices);

}  // namespace rtrain::engine
