// host/engine/operators/boxed/call.h: calls an ATen operator through the dispatcher, with Lua
// arguments and Lua results.
#pragma once

#include <exception>
#include <string>

#include "host/base/error.h"
#include "host/engine/operators/boxed/overloads.h"
#include "host/engine/runtime/vm.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// The Lua state's operator of that name; null if ATen has none.
Op* find_op(Vm& vm, const std::string& name);

// Calls the operator with the arguments on the stack of the running C function. Returns the number
// of pushed results. An in-place operator returns the userdata it was called on. If memory runs
// out, collects garbage and retries once. Throws Error: kArgument naming operator, argument, shapes
// and dtypes.
int call_op(lua_State* L, Op& op);

// The overload for the arguments on the stack: "add.Tensor".
std::string overload_name(lua_State* L, Op& op);

// An operator's error: its name, LibTorch's text and the arguments on the stack.
Error operator_error(const std::string& name, const std::exception& e,
                     const std::string& arguments);

}  // namespace rtrain::engine
