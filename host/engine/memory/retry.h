// host/engine/memory/retry.h: retries a call of LibTorch once after it ran out of
// memory.
#pragma once

#include <c10/util/Exception.h>

#include <optional>

#include "host/engine/memory/collector.h"
#include "host/engine/memory/history_frames.h"
#include "host/engine/memory/out_of_memory.h"
#include "host/engine/runtime/lua_tensor.h"

namespace rtrain::engine {

// Returns the result of fn(), which must have no effect when it throws. Collects garbage before the
// second try. Throws Error(kOutOfMemory) that names the operation and the values on the stack.
template <class Fn>
auto with_retry(Vm& vm, lua_State* L, const char* operation, const Fn& fn) {
  const FrameScope frames(L);
  std::optional<OutOfMemory> failure;
  for (bool may_retry : {true, false}) {
    try {
      return fn();
    } catch (const c10::OutOfMemoryError& e) {
      failure = OutOfMemory(e);
    }
    if (!may_retry || !collect_all(vm, L)) break;
  }
  throw out_of_memory_error(L, *failure, operation, describe_stack(L, lua_gettop(L)));
}

}  // namespace rtrain::engine
