// host/engine/runtime/callback.h: a Lua function that LibTorch calls and may destroy at any time.
#pragma once

#include <memory>

#include "host/engine/runtime/vm.h"
#include "host/lua/ref.h"

namespace rtrain::engine {

// Created and called on the Lua state's thread. May be destroyed after the state was closed.
class Callback {
 public:
  // Pops the function at the top of the stack.
  explicit Callback(lua_State* L);
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  // Pushes the function and returns the state to call it on: the coroutine that runs backward(),
  // else the main state.
  lua_State* push() const;

 private:
  Vm& vm_;
  std::shared_ptr<bool> open_;
  lua_State* main_;
  std::unique_ptr<lua::Ref> function_;
};

}  // namespace rtrain::engine
