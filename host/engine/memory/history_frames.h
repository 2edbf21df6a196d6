// host/engine/memory/history_frames.h: for which state an allocation is made: the history of
// LibTorch's CUDA allocator and recordings of memory remember it with the script's lines.
#pragma once

#include <atomic>

#include "host/lua/lua.h"

namespace rtrain {

// While somebody wants them (frame_users.h).
inline std::atomic<bool> keeps_frames{false};

// Makes LibTorch ask for Lua's frames, from now on and as long as keeps_frames is set. First call
// of the process; later ones do nothing.
void install_frame_gatherer();

// Says which state is running, for the time of a call that may allocate.
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

}  // namespace rtrain
