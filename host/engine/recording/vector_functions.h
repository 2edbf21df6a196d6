// host/engine/recording/vector_functions.h: functions of ATen's vectors, compiled for one set of
// instructions. A file that includes it is compiled with CPU_CAPABILITY, as ATen's own kernels, and
// includes nothing else: what it instantiates must not be in other files.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/native/cpu/moments_utils.h>

#include <cstddef>

#include "host/engine/recording/vector_table.h"

// ATen's vectors call Sleef, which is a part of LibTorch. A LibTorch that hides it has none.
#if defined(CPU_CAPABILITY_AVX512)
#pragma weak Sleef_expf16_u10
#pragma weak Sleef_expm1f16_u10
#pragma weak Sleef_log1pf16_u10
#pragma weak Sleef_logf16_u10
#pragma weak Sleef_tanhf16_u10
#else
#pragma weak Sleef_expf8_u10
#pragma weak Sleef_expm1f8_u10
#pragma weak Sleef_log1pf8_u10
#pragma weak Sleef_logf8_u10
#pragma weak Sleef_tanhf8_u10
#endif

namespace rtrain::engine::CPU_CAPABILITY {

inline bool has_sleef() {
#if defined(CPU_CAPABILITY_AVX512)
  return Sleef_expf16_u10 != nullptr && Sleef_expm1f16_u10 != nullptr &&
         Sleef_log1pf16_u10 != nullptr && Sleef_logf16_u10 != nullptr &&
         Sleef_tanhf16_u10 != nullptr;
#else
  return Sleef_expf8_u10 != nullptr && Sleef_expm1f8_u10 != nullptr &&
         Sleef_log1pf8_u10 != nullptr && Sleef_logf8_u10 != nullptr && Sleef_tanhf8_u10 != nullptr;
#endif
}

using Vector = at::vec::Vectorized<float>;
#if defined(CPU_CAPABILITY_AVX512)
using Numbers = __m512;
#else
using Numbers = __m256;
#endif

inline Vector exp(Vector x) { return x.exp(); }
inline Vector expm1(Vector x) { return x.expm1(); }
inline Vector log1p(Vector x) { return x.log1p(); }
inline Vector sigmoid_divisor(Vector x) { return Vector(1) + x.neg().exp(); }
inline Vector gelu_tanh(Vector x) {
  const Vector inner = at::vec::fmadd(Vector(compile::kGeluKappa), x * x * x, x);
  return (Vector(compile::kGeluBeta) * inner).tanh();
}

template <Vector (*kFunction)(Vector)>
void each(float* out, const float* in, size_t count) {
  constexpr size_t kWidth = Vector::size();
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) kFunction(Vector::loadu(in + i)).store(out + i);
  if (i == count) return;
  const auto rest = static_cast<int>(count - i);
  kFunction(Vector::loadu(in + i, rest)).store(out + i, rest);
}

// A product that the compiler does not join with the sum after it: so it is in the loops of
// LibTorch's kernels.
inline Vector apart(Vector product) {
  Numbers numbers = product;
  asm("" : "+v"(numbers));
  return numbers;
}

inline float maximum_of(const float* numbers, int64_t width) {
  return at::vec::reduce_all<float>([](Vector a, Vector b) { return at::vec::maximum(a, b); },
                                    numbers, width);
}

inline void maximum(float* out, size_t, const float* const* operands, size_t width) {
  *out = maximum_of(operands[0], static_cast<int64_t>(width));
}

inline void softmax(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float shift = maximum_of(operands[0], width);
  at::vec::map([=](Vector x) { return (x - Vector(shift)).exp(); }, out, operands[0], width);
  const float sum =
      at::vec::reduce_all<float>([](Vector a, Vector b) { return a + b; }, out, width);
  const float scale = 1 / sum;
  at::vec::map([=](Vector x) { return x * Vector(scale); }, out, out, width);
}

inline void log_softmax(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float shift = maximum_of(operands[0], width);
  const float sum =
      at::vec::map_reduce_all<float>([=](Vector x) { return (x - Vector(shift)).exp(); },
                                     [](Vector a, Vector b) { return a + b; }, operands[0], width);
  const Vector log = Vector(sum).log();
  at::vec::map([=](Vector x) { return x - Vector(shift) - log; }, out, operands[0], width);
}

inline void softmax_backward(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float sum = at::vec::map2_reduce_all<float>([](Vector a, Vector b) { return apart(a * b); },
                                                    [](Vector a, Vector b) { return a + b; },
                                                    operands[0], operands[1], width);
  at::vec::map2([=](Vector a, Vector b) { return (a - Vector(sum)) * b; }, out, operands[0],
                operands[1], width);
}

inline void log_softmax_backward(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float sum =
      at::vec::reduce_all<float>([](Vector a, Vector b) { return a + b; }, operands[0], width);
  at::vec::map2([=](Vector a, Vector b) { return at::vec::fnmadd(b.exp(), Vector(sum), a); }, out,
                operands[0], operands[1], width);
}

// REQUIRES: rows fill vectors.
inline void norm_dots(float* out, size_t spread, const float* const* operands, size_t width) {
  Vector of_three(0);
  Vector of_two(0);
  for (size_t i = 0; i < width; i += Vector::size()) {
    const Vector grad = Vector::loadu(operands[0] + i);
    const Vector x = Vector::loadu(operands[1] + i);
    const Vector gamma = Vector::loadu(operands[2] + i);
    of_three = of_three + apart(grad * x * gamma);
    of_two = of_two + apart(grad * gamma);
  }
  const auto add = [](Vector a, Vector b) { return a + b; };
  out[0] = at::vec::vec_reduce_all<float>(add, of_three);
  out[spread] = at::vec::vec_reduce_all<float>(add, of_two);
}

inline void moments(float* out, size_t spread, const float* const* operands, size_t width) {
  const auto [mean, variance] =
      at::native::RowwiseMoments(operands[0], static_cast<int64_t>(width));
  out[0] = mean;
  out[spread] = variance;
}

inline constexpr VectorTable kTable = {.width = Vector::size(),
                                       .exp = &each<&exp>,
                                       .expm1 = &each<&expm1>,
                                       .log1p = &each<&log1p>,
                                       .sigmoid_divisor = &each<&sigmoid_divisor>,
                                       .gelu_tanh = &each<&gelu_tanh>,

                                       .maximum = &maximum,
                                       .softmax = &softmax,
                                       .log_softmax = &log_softmax,
                                       .softmax_backward = &softmax_backward,
                                       .log_softmax_backward = &log_softmax_backward,

                                       .norm_dots = &norm_dots,
                                       .moments = &moments};

}  // namespace rtrain::engine::CPU_CAPABILITY
