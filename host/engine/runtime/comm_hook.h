// host/engine/runtime/comm_hook.h: whether the Lua state is running a communication hook of
// DistributedDataParallel. The reducer is locked then.
#pragma once

#include "host/base/text/text.h"
#include "host/engine/runtime/vm.h"

namespace rtrain::engine {

class InCommHook {
 public:
  explicit InCommHook(Vm& vm) : vm_(vm) { vm_.in_comm_hook = true; }
  ~InCommHook() { vm_.in_comm_hook = false; }
  InCommHook(const InCommHook&) = delete;
  InCommHook& operator=(const InCommHook&) = delete;

 private:
  Vm& vm_;
};

// Throws Error(kUser) if such a hook calls `what` ("backward"), which would wait for its own
// reducer.
inline void check_outside_comm_hook(lua_State* L, const char* what) {
  if (!vm(L).in_comm_hook) return;
  throw Error(Code::kUser, cat(what,
                               " inside of a communication hook: a hook runs during the "
                               "backward of its model, which is not there for others "
                               "until it has ended"));
}

}  // namespace rtrain::engine
