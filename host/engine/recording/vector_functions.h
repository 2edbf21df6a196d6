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
inline Vector fast_exp(Vector x) { return x.exp_u20(); }
// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
inline Vector fast_normal_share(Vector x) {
  constexpr float kScale = 0.3275911F * 0.70710678118654752F;
  const Vector size = x.abs();
  const Vector t = Vector(1) / at::vec::fmadd(size, Vector(kScale), Vector(1));
  Vector sum = at::vec::fmadd(t, Vector(1.061405429F), Vector(-1.453152027F));
  sum = at::vec::fmadd(sum, t, Vector(1.421413741F));
  sum = at::vec::fmadd(sum, t, Vector(-0.284496736F));
  sum = at::vec::fmadd(sum, t, Vector(0.254829592F));
  const Vector tail = sum * t * (x * x * Vector(-0.5F)).exp_u20() * Vector(0.5F);
  return Vector::blendv(tail, Vector(1) - tail, x > Vector(0));
}

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

// The order of ATen's amax over a row, which decides about the sign of a zero.
inline void maximum(float* out, size_t, const float* const* operands, size_t width) {
  constexpr size_t kAtOnce = 4;
  constexpr size_t kStep = kAtOnce * Vector::size();
  const float* row = operands[0];
  const auto larger = [](float a, float b) { return a != a || b != b ? a + b : a < b ? b : a; };
  float most = -__builtin_inff();
  size_t done = 0;
  if (width >= kStep) {
    Vector most_of[kAtOnce];
    for (size_t k = 0; k < kAtOnce; ++k) most_of[k] = Vector::loadu(row + k * Vector::size());
    for (done = kStep; done + kStep <= width; done += kStep) {
      for (size_t k = 0; k < kAtOnce; ++k) {
        most_of[k] = at::vec::maximum(most_of[k], Vector::loadu(row + done + k * Vector::size()));
      }
    }
    float partial[Vector::size()];
    at::vec::maximum(at::vec::maximum(most_of[0], most_of[1]),
                     at::vec::maximum(most_of[2], most_of[3]))
        .store(partial);
    for (size_t k = 1; k < Vector::size(); ++k) partial[0] = larger(partial[0], partial[k]);
    most = larger(most, partial[0]);
  }
  for (; done < width; ++done) most = larger(most, row[done]);
  *out = most;
}

template <Vector (*kExp)(Vector)>
void softmax(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float shift = maximum_of(operands[0], width);
  at::vec::map([=](Vector x) { return kExp(x - Vector(shift)); }, out, operands[0], width);
  const float sum =
      at::vec::reduce_all<float>([](Vector a, Vector b) { return a + b; }, out, width);
  const float scale = 1 / sum;
  at::vec::map([=](Vector x) { return x * Vector(scale); }, out, out, width);
}

template <Vector (*kExp)(Vector)>
void log_softmax(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float shift = maximum_of(operands[0], width);
  const float sum =
      at::vec::map_reduce_all<float>([=](Vector x) { return kExp(x - Vector(shift)); },
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

template <Vector (*kExp)(Vector)>
void log_softmax_backward(float* out, size_t, const float* const* operands, size_t size) {
  const auto width = static_cast<int64_t>(size);
  const float sum =
      at::vec::reduce_all<float>([](Vector a, Vector b) { return a + b; }, operands[0], width);
  at::vec::map2([=](Vector a, Vector b) { return at::vec::fnmadd(kExp(b), Vector(sum), a); }, out,
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

// The order of ATen's sum over a row: four vectors at once, whose sums go up a cascade of levels.
inline void sum(float* out, size_t, const float* const* operands, size_t width) {
  constexpr size_t kAtOnce = 4;
  constexpr size_t kLevels = 4;
  const float* row = operands[0];
  const auto load = [&](size_t vector) { return Vector::loadu(row + vector * Vector::size()); };
  const size_t num_vectors = width / Vector::size();
  const size_t count = num_vectors / kAtOnce;
  size_t power = 4;
  while (count > size_t{1} << (power * kLevels + kLevels - 1)) ++power;
  const size_t step = size_t{1} << power;
  Vector sums[kLevels][kAtOnce];
  for (auto& level : sums) {
    for (Vector& each : level) each = Vector(0);
  }
  const auto add = [&](size_t i) {
    for (size_t k = 0; k < kAtOnce; ++k) sums[0][k] = sums[0][k] + load(i * kAtOnce + k);
  };
  size_t i = 0;
  while (i + step <= count) {
    for (const size_t end = i + step; i < end; ++i) add(i);
    for (size_t level = 1; level < kLevels; ++level) {
      for (size_t k = 0; k < kAtOnce; ++k) {
        sums[level][k] = sums[level][k] + sums[level - 1][k];
        sums[level - 1][k] = Vector(0);
      }
      if ((i & ((step - 1) << (level * power))) != 0) break;
    }
  }
  for (; i < count; ++i) add(i);
  for (size_t level = 1; level < kLevels; ++level) {
    for (size_t k = 0; k < kAtOnce; ++k) sums[0][k] = sums[0][k] + sums[level][k];
  }
  for (size_t rest = count * kAtOnce; rest < num_vectors; ++rest) {
    sums[0][0] = sums[0][0] + load(rest);
  }
  for (size_t k = 1; k < kAtOnce; ++k) sums[0][0] = sums[0][0] + sums[0][k];
  float total = 0;
  for (size_t k = num_vectors * Vector::size(); k < width; ++k) total += row[k];
  float partial[Vector::size()];
  sums[0][0].store(partial);
  for (const float each : partial) total += each;
  *out = total;
}

inline constexpr VectorTable kTable = {
    .width = Vector::size(),
    .exp = &each<&exp>,
    .expm1 = &each<&expm1>,
    .log1p = &each<&log1p>,
    .sigmoid_divisor = &each<&sigmoid_divisor>,
    .gelu_tanh = &each<&gelu_tanh>,

    .maximum = &maximum,
    .softmax = &softmax<&exp>,
    .log_softmax = &log_softmax<&exp>,
    .softmax_backward = &softmax_backward,
    .log_softmax_backward = &log_softmax_backward<&exp>,

    .norm_dots = &norm_dots,
    .moments = &moments,
    .sum = &sum,

    .fast_exp = &each<&fast_exp>,
    .fast_normal_share = &each<&fast_normal_share>,
    .fast_softmax = &softmax<&fast_exp>,
    .fast_log_softmax = &log_softmax<&fast_exp>,
    .fast_log_softmax_backward = &log_softmax_backward<&fast_exp>};

}  // namespace rtrain::engine::CPU_CAPABILITY
