// torch._C.cuda_memory_snapshot: the history of CUDA memory, in the format of PyTorch's memory
// viewer.
#include <ATen/Context.h>

#include <array>
#include <optional>
#include <string>

#include "host/engine/cuda/cuda.h"
#include "host/engine/memory/frame_users.h"
#include "host/engine/memory/history_frames.h"
#include "host/engine/runtime/guard.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

// Initializes CUDA first, because before its first use the allocator knows no devices.
const CudaMemorySnapshotApi& own_api() {
  const CudaMemorySnapshotApi& out = need_cuda().memory_snapshot;
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return out;
}

std::optional<std::string> text_or_none(const lua::Options& options, const char* name) {
  std::string text = options.text(name, "");
  if (text.empty()) return std::nullopt;
  return text;
}

// record_history{enabled, context, stacks, max_entries, clear_history}. torch.cuda checks the
// values.
int record_history(lua_State* L) {
  const lua::Options options(L, 1, "_record_memory_history",
                             {"enabled", "context", "stacks", "max_entries", "clear_history"});
  CudaMemoryHistory history{.enabled = text_or_none(options, "enabled"),
                            .context = text_or_none(options, "context"),
                            .stacks = options.text("stacks", "python"),
                            .clear_history = options.boolean("clear_history", false)};
  const int64_t max_entries = options.integer("max_entries", 0);
  if (max_entries > 0) history.max_entries = static_cast<uint64_t>(max_entries);
  const bool keeps_stacks = history.enabled && history.context;
  if (keeps_stacks) install_frame_gatherer();
  own_api().record_history(history);
  want_frames(FrameUser::kHistory, keeps_stacks);
  return 0;
}

int pickled(lua_State* L) {
  const std::string bytes = own_api().pickled();
  lua_pushlstring(L, bytes.data(), bytes.size());
  return 1;
}

}  // namespace

void open_cuda_memory_snapshot(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&record_history>("record_history"),
                                            torch_method<&pickled>("pickled")};
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_memory_snapshot");
}

}  // namespace rtrain::engine
