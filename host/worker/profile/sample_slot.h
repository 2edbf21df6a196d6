// host/worker/profile/sample_slot.h: one sample of a thread's stack, with Lua lines and native
// functions. The thread writes it in the handler of the sampler's signal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/worker/profile/lua_stack.h"

namespace rtrain::worker {

// The handler writes it on the interrupted thread. The sampler reads it once `done` is set.
struct SampleSlot {
  enum class Where : uint8_t {
    kNative,    // in native code: no Lua has called it, or it is not known
    kFunction,  // in a C function that Lua has called
    kLua,       // in the interpreter, its helpers or compiled code
    kUnwinder,
  };
  static constexpr int kMaxNative = 96;

  // Set by the sampler: the handler writes a stack only while the thread is in a system call.
  bool is_for_waits = false;
  std::atomic<bool> done{false};
  Where where = Where::kNative;
  bool is_in_system_call = false;
  bool waits_for_lua = false;  // the Lua lines are complete when lua.done is set
  int count = 0;               // of native frames, the innermost first
  int own = 0;                 // those above the frame of LuaJIT's interpreter
  double cpu_s = 0;            // processor time of the thread, after the sample
  double cost_s = 0;           // the part of it that the handler used
  std::array<uintptr_t, kMaxNative> native{};
  LuaStack lua;
};

inline constexpr size_t kMaxSampleSlots = 256;

// The first call creates the slots. They are never freed, since a hook may still write into one.
// A sampler calls this before it interrupts a thread.
std::span<SampleSlot, kMaxSampleSlots> sample_slots();

// The SampleHandler (host/worker/profile/native_stack.h). `value` is the slot's index.
void write_sample(int value, void* context);

}  // namespace rtrain::worker
