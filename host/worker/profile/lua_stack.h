// host/worker/profile/lua_stack.h: the Lua frames of a thread, for signal handlers that interrupt
// it.
//
// In a C function that Lua has called the frames can be read at once. In the interpreter and in
// compiled code they can be read at the next instruction only, where a hook is called: a compiled
// loop looks for hooks where it begins, so that its samples have the line of its beginning.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::worker {

struct LuaFrame {
  std::array<char, LUA_IDSIZE> source{};  // "train.lua"
  std::array<char, 44> name{};  // as the caller calls the function; "" where it is not known
  int line = 0;
};

struct LuaStack {
  static constexpr int kFrames = 48;

  // Set to ask; cleared where the frames are about to be written, or are no longer wanted.
  std::atomic<bool> wanted{false};
  std::atomic<bool> done{false};
  int count = 0;
  double cost_s = 0;                     // processor time of the hook
  std::array<LuaFrame, kFrames> frames;  // the innermost first
};

// Both for a signal handler, of the thread that it has interrupted.

// The frames are written at the thread's next Lua instruction, which sets `done`. Two may wait at a
// time. False where the thread runs no Lua, or just now leaves such a hook.
bool write_at_next_instruction(LuaStack& out);
// REQUIRES: the thread is in a C function that its state, and no coroutine of it, has called.
void write_frames(LuaStack& out);

}  // namespace rtrain::worker
