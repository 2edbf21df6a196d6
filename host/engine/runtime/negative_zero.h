// host/engine/runtime/negative_zero.h: -0.0, an integral number that int64 cannot represent.
//
// to_scalar() keeps it a double, so that a tensor gets its sign. If all other operands are
// integers, it becomes the int64 0: otherwise `-i` would make a sum of integers a float whenever i
// is 0.
#pragma once

#include <c10/core/Scalar.h>

#include <cmath>
#include <cstdint>

namespace rtrain::engine {

inline bool is_negative_zero(double number) { return number == 0 && std::signbit(number); }
inline bool is_negative_zero(const c10::Scalar& number) {
  return number.isFloatingPoint() && is_negative_zero(number.toDouble());
}

// The number as an operand.
inline c10::Scalar as_operand(const c10::Scalar& number, bool all_integers) {
  return all_integers && is_negative_zero(number) ? c10::Scalar(int64_t{0}) : number;
}

}  // namespace rtrain::engine
