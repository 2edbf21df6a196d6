// host/engine/recording/vector_math.h: functions of ATen's vectors. A part of vector_functions.h.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>

#include <cstddef>

#include "host/compile/operation.h"

// ATen's vectors call Sleef, which is a part of LibTorch. A LibTorch that hides it has none.
#if defined(CPU_CAPABILITY_AVX512)
#pragma weak Sleef_expm1f16_u10
#pragma weak Sleef_log1pf16_u10
#pragma weak Sleef_logf16_u10
#pragma weak Sleef_tanhf16_u10
#else
#pragma weak Sleef_expm1f8_u10
#pragma weak Sleef_log1pf8_u10
#pragma weak Sleef_logf8_u10
#pragma weak Sleef_tanhf8_u10
#endif

namespace rtrain::engine::CPU_CAPABILITY {

inline bool has_sleef() {
#if defined(CPU_CAPABILITY_AVX512)
  return Sleef_expm1f16_u10 != nullptr && Sleef_log1pf16_u10 != nullptr &&
         Sleef_logf16_u10 != nullptr && Sleef_tanhf16_u10 != nullptr;
#else
  return Sleef_expm1f8_u10 != nullptr && Sleef_log1pf8_u10 != nullptr &&
         Sleef_logf8_u10 != nullptr && Sleef_tanhf8_u10 != nullptr;
#endif
}

using Vector = at::vec::Vectorized<float>;
#if defined(CPU_CAPABILITY_AVX512)
using Numbers = __m512;
#else
using Numbers = __m256;
#endif

// That of Sleef with errors up to 1 unit in the last place, to the last bit. A call of it for each
// vector would take twice the time.
inline Vector exp(Vector x) {
  const Vector product = x * Vector(1.442695040888963407F);
#if defined(CPU_CAPABILITY_AVX512)
  const Vector power = product.round();
#else
  const __m256i powers = _mm256_cvtps_epi32(product);
  const Vector power = _mm256_cvtepi32_ps(powers);
#endif
  Vector rest = at::vec::fmadd(power, Vector(-0.693145751953125F), x);
  rest = at::vec::fmadd(power, Vector(-1.428606765330187045e-06F), rest);
  Vector sum = at::vec::fmadd(Vector(0.000198527617612853646278381F), rest,
                              Vector(0.00139304355252534151077271F));
  sum = at::vec::fmadd(sum, rest, Vector(0.00833336077630519866943359F));
  sum = at::vec::fmadd(sum, rest, Vector(0.0416664853692054748535156F));
  sum = at::vec::fmadd(sum, rest, Vector(0.166666671633720397949219F));
  sum = at::vec::fmadd(sum, rest, Vector(0.5F));
  sum = Vector(1) + at::vec::fmadd(rest * rest, sum, rest);
  constexpr float kLeast = -104;  // below: 0
  constexpr float kMost = 100;    // above: infinity
  const Vector infinity(__builtin_inff());
#if defined(CPU_CAPABILITY_AVX512)
  const __mmask16 is_positive = _mm512_cmp_ps_mask(x, Vector(kLeast), _CMP_NLT_UQ);
  const __m512 scaled = _mm512_maskz_scalef_ps(is_positive, sum, power);
  return _mm512_mask_mov_ps(scaled, _mm512_cmp_ps_mask(x, Vector(kMost), _CMP_GT_OQ), infinity);
#else
  const auto power_of_two = [](__m256i exponents) {
    const __m256i biased = _mm256_add_epi32(exponents, _mm256_set1_epi32(127));
    return Vector(_mm256_castsi256_ps(_mm256_slli_epi32(biased, 23)));
  };
  const __m256i half = _mm256_srai_epi32(powers, 1);
  const Vector scaled = sum * power_of_two(half) * power_of_two(_mm256_sub_epi32(powers, half));
  const __m256 is_zero = _mm256_cmp_ps(x, Vector(kLeast), _CMP_LT_OQ);
  const __m256 is_large = _mm256_cmp_ps(x, Vector(kMost), _CMP_GT_OQ);
  return _mm256_blendv_ps(_mm256_andnot_ps(is_zero, scaled), infinity, is_large);
#endif
}
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
inline Vector sigmoid_divisor(Vector x) { return Vector(1) + exp(x.neg()); }
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

}  // namespace rtrain::engine::CPU_CAPABILITY
