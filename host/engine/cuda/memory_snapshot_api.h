// host/engine/cuda/memory_snapshot_api.h: the allocator's history, in the form that PyTorch's
// memory viewer reads. The functions throw c10::Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtrain {

// As torch.cuda.memory._record_memory_history takes them.
struct CudaMemoryHistory {
  std::optional<std::string> enabled = "all";  // "state": what is live; nothing: stop
  std::optional<std::string> context = "all";  // for which events stacks are kept
  std::string stacks = "python";               // "all": those of C++ too
  uint64_t max_entries = UINT64_MAX;
  bool clear_history = false;
};

struct CudaMemorySnapshotApi {
  void (*record_history)(const CudaMemoryHistory& history) = nullptr;
  // A pickle of what is live and of the history.
  std::string (*pickled)() = nullptr;
};

}  // namespace rtrain
