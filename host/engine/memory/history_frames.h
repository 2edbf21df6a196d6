// host/engine/memory/history_frames.h: records which Lua state an allocation is made for, so that
// the history of LibTorch's CUDA allocator and memory recordings contain the script's lines.
#pragma once

#include <atomic>

#include "host/lua/lua.h"

namespace rtrain::engine {

// Set while a feature needs frames (frame_users.h).
inline std::atomic<bool> keeps_frames{false};

// Makes LibTorch ask for Lua's frames while keeps_frames is set. Only the first call in the process
// has an effect.
void install_frame_gatherer();

// Sets the running Lua state for the duration of a call that may allocate.
class FrameScope {
 public:
  explicit FrameScope(lua_State* L) {
    if (keeps_frames.load(std::memory_order_relaxed)) [[unlikely]]
      begin(L);
  }
  ~FrameScope() {
    if (has_begun_) [[unlikely]]
      end();
  }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  void begin(lua_State* L);
  void end();

  bool has_begun_ = false;
  lua_State* before_ = nullptr;
};

}  // namespace rtrain::engine
