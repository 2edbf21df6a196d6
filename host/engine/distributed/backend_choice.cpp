#include "host/engine/distributed/backend_choice.h"

#include <array>
#include <map>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

constexpr const char* kWayOut = "leave the backend out, or set it to 'gloo'";

}  // namespace

Transports transports_of(std::string_view backend) {
  using Cpu = CpuTransport;
  using Cuda = CudaTransport;
  static constexpr std::array<std::pair<std::string_view, Transports>, 6> kAll = {{
      {"cpu:shm,cuda:nccl", {Cpu::kShm, Cuda::kNcclOrGloo}},
      {"cpu:shm,cuda:gloo", {Cpu::kShm, Cuda::kGloo}},
      {"cpu:gloo,cuda:nccl", {Cpu::kGloo, Cuda::kNccl}},
      {"shm", {Cpu::kOnlyShm, Cuda::kNone}},
      {"gloo", {Cpu::kGloo, Cuda::kGloo}},
      {"nccl", {Cpu::kShm, Cuda::kNccl}},
  }};
  for (const auto& [name, transports] : kAll) {
    if (name == backend) return transports;
  }
  throw Error(Code::kArgument, cat("init_process_group: backend '", backend,
                                   "': expected 'shm', 'gloo', 'nccl', 'cpu:shm,cuda:nccl' or "
                                   "nothing"));
}

CudaChoice choose_cuda(CudaTransport wanted, const std::vector<std::string>& devices) {
  if (wanted == CudaTransport::kGloo || wanted == CudaTransport::kNone) return {};
  const bool must = wanted == CudaTransport::kNccl;
  std::map<std::string, size_t> owners;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank].empty()) {
      if (!must) return {};
      throw Error(Code::kConfig,
                  cat("backend 'nccl': rank ", rank, " has no CUDA device: ", kWayOut));
    }
    const auto [owner, is_new] = owners.emplace(devices[rank], rank);
    if (is_new) continue;
    const std::string shared = cat("ranks ", owner->second, " and ", rank, " share one device");
    if (!must) return {.uses_nccl = false, .reason = shared + ", which NCCL refuses"};
    throw Error(Code::kConfig, cat("backend 'nccl': ", shared, ", which NCCL refuses: ", kWayOut));
  }
  return {.uses_nccl = true, .reason = ""};
}

}  // namespace rtrain::engine
