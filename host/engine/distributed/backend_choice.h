// host/engine/distributed/backend_choice.h: what the tensors of a group travel over. Pure: the same
// on every rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

enum class CpuTransport {
  kShm,      // shared memory where all ranks are on one host, else Gloo
  kOnlyShm,  // an error where they are not
  kGloo,
};

enum class CudaTransport {
  kNcclOrGloo,  // NCCL where every rank has a device to itself
  kNccl,        // an error where one has not
  kGloo,
  kNone,  // CUDA tensors are an error
};

struct Transports {
  CpuTransport cpu = CpuTransport::kShm;
  CudaTransport cuda = CudaTransport::kNcclOrGloo;
};

// Of a backend's name, as in TorchConfig: "cpu:shm,cuda:nccl", "cpu:shm,cuda:gloo",
// "cpu:gloo,cuda:nccl", "shm", "gloo", "nccl". Throws Error(kArgument) for another one.
Transports transports_of(std::string_view backend);

struct CudaChoice {
  bool uses_nccl = false;
  std::string reason;  // why it is Gloo although every rank has a device; else empty
};

// `devices`: by rank the UUID of the device, empty for a rank without one. Throws Error(kConfig)
// where NCCL is wanted and not possible.
CudaChoice choose_cuda(CudaTransport wanted, const std::vector<std::string>& devices);

}  // namespace rtrain
