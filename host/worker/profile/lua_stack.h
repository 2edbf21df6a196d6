// host/worker/profile/lua_stack.h: the Lua frames of a thread, for signal handlers that interrupt
// it.
//
// While the thread is in a C function that Lua has called, a handler can read the frames at once.
// In the interpreter and in compiled code a hook reads them at the next instruction. A compiled
// loop looks for hooks where it begins, so its samples have the line of its beginning.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::worker {

struct LuaFrame {
  std::array<char, LUA_IDSIZE> source{};  // "train.lua"
  std::array<char, 44> name{};            // the caller's name of the function; "" where unknown
  int line = 0;
};

struct LuaStack {
  static constexpr int kFrames = 48;

  // Set with a request; cleared when the hook begins to write, or when the request is withdrawn.
  std::atomic<bool> wanted{false};
  std::atomic<bool> done{false};
  int count = 0;
  double cost_s = 0;                     // processor time of the hook
  std::array<LuaFrame, kFrames> frames;  // the innermost first
};

// Both are for a signal handler and concern the thread that it has interrupted.

// Requests that a hook writes the frames at the thread's next Lua instruction and sets `done`. At
// most two requests wait. Returns false where the thread runs no Lua, or is inside this hook.
bool write_at_next_instruction(LuaStack& out);
// Writes the frames. REQUIRES: the thread's main state, not a coroutine, has called a C function.
void write_frames(LuaStack& out);

}  // namespace rtrain::worker
