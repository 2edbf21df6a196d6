// host/engine/cuda/memory_snapshot_api.h: the allocator's history, in the form that PyTorch's
// memory viewer reads. The functions throw c10::Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtrain::engine {

// Arguments of torch.cuda.memory._record_memory_history.
struct CudaMemoryHistory {
  std::optional<std::string> enabled = "all";  // "state": only live memory; nullopt: stop
  std::optional<std::string> context = "all";  // events that get a stack
  std::string stacks = "python";               // "all": also C++ stacks
  uint64_t max_entries = UINT64_MAX;
  bool clear_history = false;
};

struct CudaMemorySnapshotApi {
  void (*record_history)(const CudaMemoryHistory& history) = nullptr;
  // The live memory and the history, as a pickle.
  std::string (*pickled)() = nullptr;
};

}  // namespace rtrain::engine
