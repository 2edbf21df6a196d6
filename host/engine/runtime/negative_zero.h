// host/engine/runtime/negative_zero.h: -0.0, the integral number that an int64 cannot hold.
//
// to_scalar() leaves it a double, so that tensors get its sign. Where all other operands are
// integers it is the int64 0: `-i` does not make a sum of integers a float when i happens to be 0.
#pragma once

#include <c10/core/Scalar.h>

#include <cmath>
#include <cstdint>

namespace rtrain {

inline bool is_negative_zero(double number) { return number == 0 && std::signbit(number); }
inline bool is_negative_zero(const c10::Scalar& number) {
  return number.isFloatingPoint() && is_negative_zero(number.toDouble());
}

// The number as an operand.
inline c10::Scalar as_operand(const c10::Scalar& number, bool all_integers) {
  return all_integers && is_negative_zero(number) ? c10::Scalar(int64_t{0}) : number;
}

}  // namespace rtrain
