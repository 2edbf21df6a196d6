// host/engine/runtime/callback.h: a Lua function that LibTorch calls and may drop at any time.
#pragma once

#include <memory>

#include "host/engine/runtime/vm.h"
#include "host/lua/ref.h"

namespace rtrain {

// Made and called on the state's thread. Dropping it after the state was closed is safe.
class Callback {
 public:
  // Pops the function at the top of the stack.
  explicit Callback(lua_State* L);
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  // The state to call on, with the function pushed: the coroutine that runs backward(), else the
  // main one.
  lua_State* push() const;

 private:
  Vm& vm_;
  std::shared_ptr<bool> open_;
  lua_State* main_;
  std::unique_ptr<Ref> function_;
};

}  // namespace rtrain
