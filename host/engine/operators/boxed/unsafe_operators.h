// host/engine/operators/boxed/unsafe_operators.h: operators of LibTorch that end the process for
// wrong arguments. Each is refused, or its arguments are checked before the call.
//
// tests/soak/calls finds them. They crash Python's torch too.
#pragma once

#include <ATen/core/stack.h>

#include <string>
#include <string_view>

namespace rtrain::engine {

// Why the operator cannot be called from Lua; "" if it can.
std::string refusal(std::string_view name);

// Throws Error(kArgument) for arguments that would end the process. The caller adds the operator's
// name and the arguments.
using SafetyCheck = void (*)(const torch::jit::Stack&);

// The check to make before calls of the operator; null when there is none.
SafetyCheck find_safety_check(std::string_view name);

}  // namespace rtrain::engine
