// host/worker/profile/sample_slot.h: where a thread was when a sampler's signal has interrupted it,
// with its Lua lines and native functions; the thread writes it in the signal's handler.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/worker/profile/lua_stack.h"

namespace rtrain::worker {

// The data that a handler writes on its thread and the sampler reads once `done`.
struct SampleSlot {
  enum class Where : uint8_t {
    kNative,    // no Lua is below, or it is not known
    kFunction,  // in a C function that Lua has called
    kLua,       // in the interpreter, its helpers or compiled code
    kUnwinder,
  };
  static constexpr int kMaxNative = 96;

  // Set by the sampler: what a thread that is in no system call need not write.
  bool is_for_waits = false;
  std::atomic<bool> done{false};
  Where where = Where::kNative;
  bool is_in_system_call = false;
  bool waits_for_lua = false;  // until lua.done
  int count = 0;               // of native frames, the innermost first
  int own = 0;                 // of these: above the frame of the interpreter
  double cpu_s = 0;            // of the thread, after it
  double cost_s = 0;           // of that: the handler's
  std::array<uintptr_t, kMaxNative> native{};
  LuaStack lua;
};

inline constexpr size_t kMaxSampleSlots = 256;

// Made by the first call and never freed: a hook may still be about to write there. A sampler
// calls this before it interrupts a thread.
std::span<SampleSlot, kMaxSampleSlots> sample_slots();

// The handler (host/worker/profile/native_stack.h); the value is the slot's place.
void write_sample(int value, void* context);

}  // namespace rtrain::worker
