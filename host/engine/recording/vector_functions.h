// host/engine/recording/vector_functions.h: functions of ATen's vectors, compiled for one set of
// instructions. A file that includes it is compiled with CPU_CAPABILITY, as ATen's own kernels, and
// includes nothing else: what it instantiates must not be in other files.
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <cstddef>

#include "host/engine/recording/vector_table.h"

namespace rtrain::engine::CPU_CAPABILITY {

using Vector = at::vec::Vectorized<float>;

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

inline constexpr VectorTable kTable = {.width = Vector::size(),
                                       .exp = &each<&exp>,
                                       .expm1 = &each<&expm1>,
                                       .log1p = &each<&log1p>,
                                       .sigmoid_divisor = &each<&sigmoid_divisor>,
                                       .gelu_tanh = &each<&gelu_tanh>};

}  // namespace rtrain::engine::CPU_CAPABILITY
