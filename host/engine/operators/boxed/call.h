// host/engine/operators/boxed/call.h: calls an ATen operator through the dispatcher, with Lua
// arguments and Lua results.
#pragma once

#include <exception>
#include <string>

#include "host/base/error.h"
#include "host/engine/operators/boxed/overloads.h"
#include "host/engine/runtime/vm.h"
#include "host/lua/lua.h"

namespace rtrain {

// This state's operator of that name; null when ATen has none.
Op* find_op(Vm& vm, const std::string& name);

// Calls the operator with the arguments on the stack of the running C function; returns the number
// of results pushed. An operator that works in place gives back the very userdata it was called on.
// Running out of memory collects garbage and tries once more. Throws Error: kArgument naming
// operator, argument, shapes and dtypes.
int call_op(lua_State* L, Op& op);

// Which overload a call with the arguments on the stack takes: "add.Tensor".
std::string overload_name(lua_State* L, Op& op);

// The error of an operator: its name, LibTorch's text and the arguments on the stack.
Error operator_error(const std::string& name, const std::exception& e,
                     const std::string& arguments);

}  // namespace rtrain
