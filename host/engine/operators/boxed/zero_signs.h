// host/engine/operators/boxed/zero_signs.h: -0.0 among the numbers of a call whose other arguments
// are integers (host/engine/runtime/negative_zero.h).
#pragma once

#include "host/engine/operators/boxed/overloads.h"

namespace rtrain::engine {

// Whether all arguments but -0.0 are integers, so that the result has an integer dtype.
bool all_integers(const Overload& overload, const torch::jit::Stack& stack);

// Replaces -0.0 by the integer 0.
void clear_signs(const Overload& overload, torch::jit::Stack& stack);

}  // namespace rtrain::engine
