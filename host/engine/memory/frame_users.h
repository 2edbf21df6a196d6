// host/engine/memory/frame_users.h: who wants to know for which Lua state an allocation is made
// (history_frames.h): the history of CUDA's allocator, and a recording of memory.
#pragma once

#include <cstdint>

#include "host/lua/lua.h"

namespace rtrain {

enum class FrameUser : uint8_t { kHistory = 1, kRecording = 2 };

// Any thread.
void want_frames(FrameUser user, bool wanted);

// The state for which this thread may be allocating; null where it is in no FrameScope.
lua_State* frame_state();

}  // namespace rtrain
