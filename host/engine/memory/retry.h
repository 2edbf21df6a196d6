// host/engine/memory/retry.h: calls of LibTorch that are tried once more when there was no memory
// for them.
#pragma once

#include <c10/util/Exception.h>

#include <optional>

#include "host/engine/memory/collector.h"
#include "host/engine/memory/history_frames.h"
#include "host/engine/memory/out_of_memory.h"
#include "host/engine/runtime/lua_tensor.h"

namespace rtrain {

// What fn gives, which must have changed nothing when it throws. Between the two tries garbage is
// collected. Throws Error(kOutOfMemory) that names the operation and what is on the stack.
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

}  // namespace rtrain
