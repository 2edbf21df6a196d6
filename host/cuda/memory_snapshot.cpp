#include "host/cuda/memory_snapshot.h"

#include <torch/csrc/cuda/memory_snapshot.h>

#include <cstdlib>

namespace rtrain::cuda {
namespace {

void record_history(const engine::CudaMemoryHistory& history) {
  // Otherwise LibTorch would start addr2line for the names of C++ functions, which takes minutes,
  // and ends this process if addr2line is not installed.
  ::setenv("TORCH_SYMBOLIZE_MODE", "dladdr", /*overwrite=*/0);
  torch::cuda::_record_memory_history(history.enabled, history.context, history.stacks,
                                      history.max_entries, history.clear_history);
}

std::string pickled() { return torch::cuda::_memory_snapshot_pickled(); }

}  // namespace

engine::CudaMemorySnapshotApi cuda_memory_snapshot_api() {
  return {.record_history = &record_history, .pickled = &pickled};
}

}  // namespace rtrain::cuda
