// host/compile/formulas.h: the formulas of operations that work element by element, for numbers
// and for vectors of numbers.
#pragma once

#include "host/compile/operation.h"

namespace rtrain::compile::formulas {

// How many operands an operation has.
inline constexpr int kCounts[] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3,
                                  2, 3, 3, 4, 4, 3, 2, 2, 3, 3, 1, 0};

// The arithmetic of single numbers. That of vectors has the same members.
template <bool kHasFma>
struct Scalar {
  using Number = float;
  [[gnu::always_inline]] static float of(float number) { return number; }
  [[gnu::always_inline]] static float multiply_add(float a, float b, float c) {
    if constexpr (kHasFma) return __builtin_fmaf(a, b, c);
    return a * b + c;
  }
  [[gnu::always_inline]] static float absolute(float a) { return __builtin_fabsf(a); }
  [[gnu::always_inline]] static float root(float a) { return __builtin_sqrtf(a); }
  [[gnu::always_inline]] static float choose(bool condition, float a, float b) {
    return condition ? a : b;
  }
};

// Operands that an operation does not have are not read.
template <Operation kOperation, class Arithmetic>
[[gnu::always_inline]] inline auto apply(typename Arithmetic::Number a,
                                         typename Arithmetic::Number b,
                                         typename Arithmetic::Number c,
                                         typename Arithmetic::Number d) ->
    typename Arithmetic::Number {
  using enum Operation;
  using Of = Arithmetic;
  if constexpr (kOperation == kCopy || kOperation == kSpread) return a;
  if constexpr (kOperation == kNegate) return -a;
  if constexpr (kOperation == kAbsolute) return Of::absolute(a);
  if constexpr (kOperation == kReciprocal) return 1.0F / a;
  if constexpr (kOperation == kReciprocalRoot) return 1.0F / Of::root(a);
  if constexpr (kOperation == kRelu) return Of::choose(a < Of::of(0), Of::of(0), a);
  if constexpr (kOperation == kAdd) return a + b;
  if constexpr (kOperation == kSubtract) return a - b;
  if constexpr (kOperation == kMultiply) return a * b;
  if constexpr (kOperation == kDivide) return a / b;
  if constexpr (kOperation == kTanhBackward) return a * Of::multiply_add(-b, b, Of::of(1));
  if constexpr (kOperation == kSigmoidBackward) return a * (1.0F - b) * b;
  if constexpr (kOperation == kSiluBackward)
    return a * c * Of::multiply_add(b, 1.0F - c, Of::of(1));
  if constexpr (kOperation == kGelu) return 0.5F * a * (1.0F + b);
  if constexpr (kOperation == kGeluBackward) {
    const auto slope = 0.5F * b * Of::multiply_add(-c, c, Of::of(1)) *
                       (kGeluBeta * Of::multiply_add(Of::of(3 * kGeluKappa), b * b, Of::of(1)));
    return a * (0.5F * (1.0F + c) + slope);
  }
  if constexpr (kOperation == kAddScaled) return Of::multiply_add(b, c, a);
  if constexpr (kOperation == kAddProduct) return Of::multiply_add(d * b, c, a);
  if constexpr (kOperation == kAddQuotient) return a + d * b / c;
  if constexpr (kOperation == kThresholdBackward) return Of::choose(b <= c, Of::of(0), a);
  if constexpr (kOperation == kGreater) return Of::choose(a > b, Of::of(1), Of::of(0));
  if constexpr (kOperation == kEqual) return Of::choose(a == b, Of::of(1), Of::of(0));
  if constexpr (kOperation == kSelect) return Of::choose(a != Of::of(0), b, c);
  if constexpr (kOperation == kSubtractProduct) return Of::multiply_add(-b, c, a);
  if constexpr (kOperation == kColumnIndex) return Of::of(0);  // the loop knows it
}

}  // namespace rtrain::compile::formulas
