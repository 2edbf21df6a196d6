#include "host/compile/operation.h"

#include <array>
#include <cmath>
#include <utility>

#include "host/compile/formulas.h"

namespace rtrain::compile {
namespace {

using formulas::apply;
using formulas::kCounts;

template <bool kHasFma>
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
  return formulas::Scalar<kHasFma>::multiply_add(a, b, c);
}

constexpr size_t kNumOperations = std::size(kCounts);
static_assert(kNumOperations == static_cast<size_t>(kFirstFunction));
constexpr size_t kNumMasks = 1U << kMostElementOperands;

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
  LoopOperand operands[kCount + 1];
  for (int i = 0; i < kCount; ++i) operands[i] = given[i];
  if constexpr (kOperation == Operation::kColumnIndex) {
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i);
    return;
  }
#pragma omp simd safelen(64)
  for (size_t i = 0; i < count; ++i) {
    out[i] = apply<kOperation, formulas::Scalar<kHasFma>>(
        number_of<kCount, kSingle, 0>(operands, i), number_of<kCount, kSingle, 1>(operands, i),
        number_of<kCount, kSingle, 2>(operands, i), number_of<kCount, kSingle, 3>(operands, i));
  }
}

template <Operation kOperation, unsigned kSingle>
void plain_loop(float* out, const LoopOperand* operands, size_t count) {
  each<kOperation, kSingle, false>(out, operands, count);
}

// g++ would use half of a vector's width; clang has no such option.
#if defined(__clang__)
#define RT_TARGET_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"
#else
#define RT_TARGET_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512"
#endif

#if defined(__x86_64__)
template <Operation kOperation, unsigned kSingle>
[[gnu::target("avx2,fma")]] void avx2_loop(float* out, const LoopOperand* operands, size_t count) {
  each<kOperation, kSingle, true>(out, operands, count);
}

template <Operation kOperation, unsigned kSingle>
[[gnu::target(RT_TARGET_AVX512)]] void avx512_loop(float* out, const LoopOperand* operands,
                                                   size_t count) {
  each<kOperation, kSingle, true>(out, operands, count);
}
#endif

[[gnu::always_inline]] inline const float* row_of(const RowOperand& operand, size_t row) {
  return operand.numbers + row * operand.stride;
}

template <bool kHasFma>
[[gnu::always_inline]] inline void norm(float* out, const RowOperand* operands, size_t width,
                                        size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* x = row_of(operands[0], row);
    const float* gamma = row_of(operands[1], row);
    const float* beta = row_of(operands[2], row);
    const float mean = *row_of(operands[3], row);
    const float rstd = *row_of(operands[4], row);
    float* to = out + row * width;
#pragma omp simd safelen(64)
    for (size_t i = 0; i < width; ++i) {
      to[i] = multiply_add<kHasFma>((x[i] - mean) * rstd, gamma[i], beta[i]);
    }
  }
}

template <bool kHasFma>
[[gnu::always_inline]] inline void norm_backward(float* out, const RowOperand* operands,
                                                 size_t width, size_t num_rows) {
  for (size_t row = 0; row < num_rows; ++row) {
    const float* grad = row_of(operands[0], row);
    const float* gamma = row_of(operands[1], row);
    const float* x = row_of(operands[2], row);
    const float a = *row_of(operands[3], row);
    const float b = *row_of(operands[4], row);
    const float c = *row_of(operands[5], row);
    float* to = out + row * width;
#pragma omp simd safelen(64)
    for (size_t i = 0; i < width; ++i) {
      to[i] = multiply_add<kHasFma>(b, x[i], a * grad[i] * gamma[i]) + c;
    }
  }
}

// Sums of this many columns stay in registers while the rows pass.
constexpr size_t kColumns = 64;

template <class Add>
[[gnu::always_inline]] inline void sum_columns(float* out, size_t width, size_t num_rows, Add add) {
  size_t column = 0;
  for (; column + kColumns <= width; column += kColumns) {
    float sums[kColumns];
    for (size_t i = 0; i < kColumns; ++i) sums[i] = out[column + i];
    for (size_t row = 0; row < num_rows; ++row) {
#pragma omp simd safelen(64)
      for (size_t i = 0; i < kColumns; ++i) sums[i] = add(sums[i], row, column + i);
    }
    for (size_t i = 0; i < kColumns; ++i) out[column + i] = sums[i];
  }
  for (size_t row = 0; row < num_rows; ++row) {
    for (size_t i = column; i < width; ++i) out[i] = add(out[i], row, i);
  }
}

[[gnu::always_inline]] inline void column_sum(float* out, const RowOperand* operands, size_t width,
                                              size_t num_rows) {
  const RowOperand numbers = operands[0];
  sum_columns(out, width, num_rows,
              [=](float sum, size_t row, size_t i) { return sum + row_of(numbers, row)[i]; });
}

template <bool kHasFma>
[[gnu::always_inline]] inline void column_norm_dot(float* out, const RowOperand* operands,
                                                   size_t width, size_t num_rows) {
  const RowOperand grad = operands[0];
  const RowOperand x = operands[1];
  const RowOperand scale = operands[2];
  const RowOperand shift = operands[3];
  sum_columns(out, width, num_rows, [=](float sum, size_t row, size_t i) {
    const float normal =
        multiply_add<kHasFma>(row_of(x, row)[i], *row_of(scale, row), *row_of(shift, row));
    return multiply_add<kHasFma>(row_of(grad, row)[i], normal, sum);
  });
}

template <size_t kIndex, bool kHasFma>
[[gnu::always_inline]] inline void rows(float* out, const RowOperand* operands, size_t width,
                                        size_t num_rows) {
  constexpr auto kOperation = static_cast<Operation>(static_cast<size_t>(kFirstRowLoop) + kIndex);
  using enum Operation;
  if constexpr (kOperation == kNorm) norm<kHasFma>(out, operands, width, num_rows);
  if constexpr (kOperation == kNormBackward) norm_backward<kHasFma>(out, operands, width, num_rows);
  if constexpr (kOperation == kColumnSum || kOperation == kColumnCascade) {
    column_sum(out, operands, width, num_rows);
  }
  if constexpr (kOperation == kColumnNormDot) {
    column_norm_dot<kHasFma>(out, operands, width, num_rows);
  }
}

template <size_t kIndex>
void plain_rows(float* out, const RowOperand* operands, size_t width, size_t num_rows) {
  rows<kIndex, false>(out, operands, width, num_rows);
}

#if defined(__x86_64__)
template <size_t kIndex>
[[gnu::target("avx2,fma")]] void avx2_rows(float* out, const RowOperand* operands, size_t width,
                                           size_t num_rows) {
  rows<kIndex, true>(out, operands, width, num_rows);
}

template <size_t kIndex>
[[gnu::target(RT_TARGET_AVX512)]] void avx512_rows(float* out, const RowOperand* operands,
                                                   size_t width, size_t num_rows) {
  rows<kIndex, true>(out, operands, width, num_rows);
}
#endif

constexpr size_t kNumRowLoops =
    static_cast<size_t>(kLastOperation) - static_cast<size_t>(kFirstRowLoop) + 1;
using RowLoops = std::array<RowLoop, 3>;  // by Simd

template <size_t... kIndex>
constexpr std::array<RowLoops, kNumRowLoops> row_table(std::index_sequence<kIndex...>) {
#if defined(__x86_64__)
  return {RowLoops{&plain_rows<kIndex>, &avx2_rows<kIndex>, &avx512_rows<kIndex>}...};
#else
  return {RowLoops{&plain_rows<kIndex>}...};
#endif
}

constexpr auto kRowTable = row_table(std::make_index_sequence<kNumRowLoops>());

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
  using enum Operation;
  if (operation < kFirstFunction) return kCounts[static_cast<size_t>(operation)];
  switch (operation) {
    case kSoftmaxBackward:
    case kLogSoftmaxBackward:
      return 2;
    case kClassBackward:
    case kNormDots:
      return 3;
    case kColumnNormDot:
      return 4;
    case kNorm:
    case kNormPass:
      return 5;
    case kNormBackward:
      return 6;
    default:
      return 1;
  }
}

int num_full_operands(Operation operation) {
  using enum Operation;
  if (operation == kNorm || operation == kNormBackward || operation == kNormPass) return 3;
  if (operation == kColumnNormDot) return 2;
  if (operation == kClassBackward) return 1;
  return is_row_function(operation) || is_row_loop(operation) ? num_operands(operation) : 0;
}

RowLoop row_loop_of(Operation operation, Simd simd) {
  const size_t index = static_cast<size_t>(operation) - static_cast<size_t>(kFirstRowLoop);
  return kRowTable[index][static_cast<size_t>(simd)];
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
