#include "host/compile/operation.h"

#include <array>
#include <cmath>
#include <utility>

namespace rtrain::compile {
namespace {

template <bool kHasFma>
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
  if constexpr (kHasFma) return __builtin_fmaf(a, b, c);
  return a * b + c;
}

// The formulas. Operands that an operation does not have are 0.
template <Operation kOperation, bool kHasFma>
[[gnu::always_inline]] inline float apply(float a, float b, float c, float d) {
  using enum Operation;
  if constexpr (kOperation == kCopy) return a;
  if constexpr (kOperation == kNegate) return -a;
  if constexpr (kOperation == kAbsolute) return __builtin_fabsf(a);
  if constexpr (kOperation == kReciprocal) return 1.0F / a;
  if constexpr (kOperation == kReciprocalRoot) return 1.0F / __builtin_sqrtf(a);
  if constexpr (kOperation == kRelu) return a < 0.0F ? 0.0F : a;
  if constexpr (kOperation == kAdd) return a + b;
  if constexpr (kOperation == kSubtract) return a - b;
  if constexpr (kOperation == kMultiply) return a * b;
  if constexpr (kOperation == kDivide) return a / b;
  if constexpr (kOperation == kTanhBackward) return a * multiply_add<kHasFma>(-b, b, 1.0F);
  if constexpr (kOperation == kSigmoidBackward) return a * (1.0F - b) * b;
  if constexpr (kOperation == kSiluBackward)
    return a * c * multiply_add<kHasFma>(b, 1.0F - c, 1.0F);
  if constexpr (kOperation == kGelu) return 0.5F * a * (1.0F + b);
  if constexpr (kOperation == kGeluBackward) {
    const float slope = 0.5F * b * multiply_add<kHasFma>(-c, c, 1.0F) *
                        (kGeluBeta * multiply_add<kHasFma>(3 * kGeluKappa, b * b, 1.0F));
    return a * (0.5F * (1.0F + c) + slope);
  }
  if constexpr (kOperation == kAddScaled) return multiply_add<kHasFma>(b, c, a);
  if constexpr (kOperation == kAddProduct) return multiply_add<kHasFma>(d * b, c, a);
  if constexpr (kOperation == kAddQuotient) return a + d * b / c;
  if constexpr (kOperation == kThresholdBackward) return b <= c ? 0.0F : a;
  if constexpr (kOperation == kGreater) return a > b ? 1.0F : 0.0F;
  if constexpr (kOperation == kSelect) return a != 0.0F ? b : c;
}

constexpr int kCounts[] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 2, 3, 3, 4, 4, 3, 2, 3};
constexpr size_t kNumOperations = std::size(kCounts);
static_assert(kNumOperations == static_cast<size_t>(kFirstFunction));
constexpr size_t kNumMasks = 1U << kMostOperands;

template <int kCount, unsigned kSingle, int kAt>
[[gnu::always_inline]] inline float number_of(const LoopOperand* operands, size_t i) {
  if constexpr (kAt >= kCount) return 0.0F;
  if constexpr ((kSingle >> kAt & 1U) != 0) return operands[kAt].number;
  if constexpr (kAt < kCount) return operands[kAt].numbers[i];
}

template <Operation kOperation, unsigned kSingle, bool kHasFma>
[[gnu::always_inline]] inline void each(float* out, const LoopOperand* given, size_t count) {
  constexpr int kCount = kCounts[static_cast<size_t>(kOperation)];
  // Copies of our own, which writes to `out` cannot change.
  LoopOperand operands[kCount];
  for (int i = 0; i < kCount; ++i) operands[i] = given[i];
#pragma omp simd safelen(64)
  for (size_t i = 0; i < count; ++i) {
    out[i] = apply<kOperation, kHasFma>(
        number_of<kCount, kSingle, 0>(operands, i), number_of<kCount, kSingle, 1>(operands, i),
        number_of<kCount, kSingle, 2>(operands, i), number_of<kCount, kSingle, 3>(operands, i));
  }
}

template <Operation kOperation, unsigned kSingle>
void plain_loop(float* out, const LoopOperand* operands, size_t count) {
  each<kOperation, kSingle, false>(out, operands, count);
}

#if defined(__x86_64__)
template <Operation kOperation, unsigned kSingle>
[[gnu::target("avx2,fma")]] void avx2_loop(float* out, const LoopOperand* operands, size_t count) {
  each<kOperation, kSingle, true>(out, operands, count);
}

template <Operation kOperation, unsigned kSingle>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")]] void
avx512_loop(float* out, const LoopOperand* operands, size_t count) {
  each<kOperation, kSingle, true>(out, operands, count);
}
#endif

using Loops = std::array<Loop, 3>;  // by Simd

using Table = std::array<std::array<Loops, kNumMasks>, kNumOperations>;

template <size_t kIndex, unsigned kSingle>
constexpr Loops entry() {
  constexpr auto kOperation = static_cast<Operation>(kIndex);
  if constexpr (kSingle >> kCounts[kIndex] != 0) return {};
#if defined(__x86_64__)
  return {&plain_loop<kOperation, kSingle>, &avx2_loop<kOperation, kSingle>,
          &avx512_loop<kOperation, kSingle>};
#else
  return {&plain_loop<kOperation, kSingle>};
#endif
}

template <size_t kIndex, unsigned... kSingle>
constexpr std::array<Loops, kNumMasks> row(std::integer_sequence<unsigned, kSingle...>) {
  return {entry<kIndex, kSingle>()...};
}

template <size_t... kIndex>
constexpr Table table(std::index_sequence<kIndex...>) {
  return {row<kIndex>(std::make_integer_sequence<unsigned, kNumMasks>())...};
}

constexpr Table kTable = table(std::make_index_sequence<kNumOperations>());

}  // namespace

int num_operands(Operation operation) {
  return is_function(operation) ? 1 : kCounts[static_cast<size_t>(operation)];
}

Loop loop_of(Operation operation, unsigned single_mask, Simd simd) {
  return kTable[static_cast<size_t>(operation)][single_mask][static_cast<size_t>(simd)];
}

Simd best_simd() {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx2) return has_avx512 ? Simd::kAvx512 : Simd::kAvx2;
#endif
  return Simd::kPlain;
}

}  // namespace rtrain::compile
