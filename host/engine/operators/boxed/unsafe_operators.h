// host/engine/operators/boxed/unsafe_operators.h: operators of LibTorch that end the process when
// their arguments are wrong, and what is done about each: refused, or checked before the call.
//
// tests/random_calls finds them. Python's torch ends with the same crash.
#pragma once

#include <ATen/core/stack.h>

#include <string>
#include <string_view>

namespace rtrain {

// Why Lua cannot call the operator of that name; empty when it can.
std::string refusal(std::string_view name);

// Throws Error(kArgument) for arguments that the operator does not survive; the caller adds which
// operator it is and the arguments.
using SafetyCheck = void (*)(const torch::jit::Stack&);

// The check to make before calls of the operator; null when there is none.
SafetyCheck find_safety_check(std::string_view name);

}  // namespace rtrain
