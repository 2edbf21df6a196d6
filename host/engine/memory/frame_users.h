// host/engine/memory/frame_users.h: which features need the Lua state of an allocation
// (history_frames.h): the history of CUDA's allocator and memory recordings.
#pragma once

#include <cstdint>

#include "host/lua/lua.h"

namespace rtrain::engine {

enum class FrameUser : uint8_t { kHistory = 1, kRecording = 2 };

// Turns the need of a feature on or off. Any thread.
void want_frames(FrameUser user, bool wanted);

// The Lua state that this thread may be allocating for; null outside of a FrameScope.
lua_State* frame_state();

}  // namespace rtrain::engine
