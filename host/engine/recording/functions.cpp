#include "host/engine/recording/functions.h"

#include <ATen/Version.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "host/engine/recording/vector_table.h"

// MKL's functions of arrays. A LibTorch without MKL has none.
extern "C" {
using MklFunction = void(int count, const float* in, float* out, int64_t mode);
// NOLINTBEGIN(readability-identifier-naming): names of others.
[[gnu::weak]] MklFunction vmsExp;
[[gnu::weak]] MklFunction vmsLn;
[[gnu::weak]] MklFunction vmsTanh;
[[gnu::weak]] MklFunction vmsErf;
[[gnu::weak]] MklFunction vmsSin;
[[gnu::weak]] MklFunction vmsCos;
[[gnu::weak]] MklFunction vmsSqrt;
// NOLINTEND(readability-identifier-naming)
}

namespace rtrain::engine {
namespace {

// High accuracy, denormal numbers as they are, no errors.
constexpr int64_t kMklMode = 0x2 | 0x140000 | 0x100;

template <MklFunction* kFunction>
void mkl_loop(float* out, const float* in, size_t count) {
  kFunction(static_cast<int>(count), in, out, kMklMode);
}

template <MklFunction* kFunction>
compile::Function mkl() {
  MklFunction* volatile address = kFunction;  // it may be missing
  if (address == nullptr) return {};
  return {.body = &mkl_loop<kFunction>};
}

float sigmoid_divisor(float x) { return 1 + std::exp(-x); }

float gelu_tanh(float x) {
  const float inner = std::fma(compile::kGeluKappa, x * x * x, x);
  return std::tanh(compile::kGeluBeta * inner);
}

template <float (*kFunction)(float)>
void one_by_one(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = kFunction(in[i]);
}

const VectorTable* table_of([[maybe_unused]] std::string_view capability) {
#if defined(__x86_64__)
  if (capability == "AVX512") return avx512_functions();
  if (capability == "AVX2") return avx2_functions();
#endif
  return nullptr;
}

compile::Functions found_functions() {
  using enum compile::Operation;
  const VectorTable* table = table_of(at::get_cpu_capability());
  // Kernels compute two vectors at once, and what is left one by one.
  compile::Functions out(table == nullptr ? 1 : 2 * table->width);
  out.set(kExp, mkl<&vmsExp>());
  out.set(kLog, mkl<&vmsLn>());
  out.set(kTanh, mkl<&vmsTanh>());
  out.set(kErf, mkl<&vmsErf>());
  out.set(kSin, mkl<&vmsSin>());
  out.set(kCos, mkl<&vmsCos>());
  out.set(kSqrt, mkl<&vmsSqrt>());
  const VectorTable* norm = table_of("AVX2");  // kernels of LayerNorm, sum, amax have no AVX-512
  if (table == nullptr || norm == nullptr) return out;
  out.set(kLog1p, {.body = table->log1p});
  out.set(kExpm1, {.body = table->expm1});
  out.set(kExpInKernel, {.body = table->exp, .tail = &one_by_one<&expf>});
  out.set(kLog1pInKernel, {.body = table->log1p, .tail = &one_by_one<&log1pf>});
  out.set(kSigmoidDivisor, {.body = table->sigmoid_divisor, .tail = &one_by_one<&sigmoid_divisor>});
  out.set(kGeluTanh, {.body = table->gelu_tanh, .tail = &one_by_one<&gelu_tanh>});
  out.set_row(kRowMaximum, norm->maximum);
  out.set_row(kSoftmax, table->softmax);
  out.set_row(kLogSoftmax, table->log_softmax);
  out.set_row(kSoftmaxBackward, table->softmax_backward);
  out.set_row(kLogSoftmaxBackward, table->log_softmax_backward);
  out.set_row(kClassBackward, table->class_backward);
  out.set_row(kNormDots, norm->norm_dots);
  out.set_row(kNormPass, norm->norm_pass);
  out.set_row(kRowMoments, norm->moments);
  out.set_row(kRowSum, norm->sum);
  return out;
}

compile::Functions fast_functions() {
  using enum compile::Operation;
  compile::Functions out = found_functions();
  const VectorTable* table = table_of(at::get_cpu_capability());
  if (table == nullptr) return out;
  out.set(kExp, {.body = table->fast_exp});
  out.set(kExpInKernel, {.body = table->fast_exp});
  out.set(kNormalShare, {.body = table->fast_normal_share});
  out.set_row(kSoftmax, table->fast_softmax);
  out.set_row(kLogSoftmax, table->fast_log_softmax);
  out.set_row(kLogSoftmaxBackward, table->fast_log_softmax_backward);
  out.set_row(kClassBackward, table->fast_class_backward);
  return out;
}

}  // namespace

const compile::Functions& functions(bool is_fast) {
  static const compile::Functions kExact = found_functions();
  static const compile::Functions kFast = fast_functions();
  return is_fast ? kFast : kExact;
}

}  // namespace rtrain::engine
