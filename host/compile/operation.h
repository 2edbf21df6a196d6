// host/compile/operation.h: the operations of a region on float32, and the loops of those that work
// element by element.
//
// Each has the formula and the rounding of ATen's kernel for the CPU: where ATen multiplies and
// adds in one rounding, so does the loop. Functions have no loop here: host/compile/function.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rtrain::compile {

enum class Operation : uint8_t {
  kCopy,               // a
  kNegate,             // -a
  kAbsolute,           // |a|
  kReciprocal,         // 1 / a
  kReciprocalRoot,     // 1 / √a
  kRelu,               // max(a, 0); a NaN stays
  kAdd,                // a + b
  kSubtract,           // a - b
  kMultiply,           // a · b
  kDivide,             // a / b
  kTanhBackward,       // a · (1 - b²), the difference in one rounding
  kSigmoidBackward,    // a · (1 - b) · b
  kSiluBackward,       // a · c · (1 + b · (1 - c)), the sum in one rounding
  kGelu,               // 0.5 · a · (1 + b)
  kGeluBackward,       // of b; c: its kGeluTanh; a: the gradient
  kAddScaled,          // a + c · b, in one rounding
  kAddProduct,         // a + (d · b) · c, the sum in one rounding
  kAddQuotient,        // a + d · b / c
  kThresholdBackward,  // 0 where b ≤ c, else a
  kGreater,            // 1 where a > b, else 0
  kEqual,              // 1 where a = b, else 0
  kSelect,             // b where a ≠ 0, else c
  kSubtractProduct,    // a - b · c, in one rounding
  kSpread,             // a, for each element of its row
  kColumnIndex,        // the element's place in its row
  // Functions of whole arrays.
  kExp,
  kLog,
  kTanh,
  kErf,
  kSin,
  kCos,
  kSqrt,
  kLog1p,
  kExpm1,
  // Functions inside of ATen's own kernels.
  kExpInKernel,
  kLog1pInKernel,
  kSigmoidDivisor,  // 1 + exp(-a)
  kGeluTanh,        // tanh(β · (a + κ · a³)), the sum in one rounding
  kNormalShare,     // (1 + erf(a / √2)) / 2: of a normal distribution, below a
  // For kernels: the nearest number of 16 bits, as float32.
  kRoundToFloat16,
  kRoundToBFloat16,
  // A row for each row: the last dimension. From outside, as functions.
  kSoftmax,
  kLogSoftmax,
  kSoftmaxBackward,  // a: the gradient, b: the result of kSoftmax
  kLogSoftmaxBackward,
  kClassBackward,  // kLogSoftmaxBackward of a gradient that is c in the row's column b, else 0;
                   // a: the result of kLogSoftmax
  kNormPass,       // kNormBackward from its kNormDots on, of gradient, input, scale, mean and rstd
  // One number for each row. From outside.
  kRowMaximum,
  kRowSum,
  kRowMoments,  // mean and variance: a pair
  kNormDots,    // Σ a · b · c and Σ a · c, in the order of LayerNorm's kernel: a pair
  kFirst,       // of a pair
  kSecond,
  // Row by row: the last operands have a number for each row.
  kNorm,          // (a - d) · e · b + c, the sum in one rounding
  kNormBackward,  // (d · a · b + e · c, in one rounding) + f
  // One number for each column: a sum over the rows. It is an output, not an operand.
  kColumnSum,
  kColumnNormDot,  // Σ a · (b · c + d), each product and sum in one rounding; c, d: of rows
  kColumnCascade,  // the same as kColumnSum in the order of ATen's sum, on any number of threads
  kFirstSum,       // of kNormPass: kColumnNormDot of LayerNorm's scale
  kSecondSum,      // and kColumnSum of its gradient
};

inline constexpr int kMostOperands = 6;
inline constexpr int kMostElementOperands = 4;
inline constexpr auto kFirstFunction = Operation::kExp;
inline constexpr auto kFirstRowFunction = Operation::kSoftmax;
inline constexpr auto kFirstRowLoop = Operation::kNorm;
inline constexpr auto kFirstColumnSum = Operation::kColumnSum;
inline constexpr auto kLastOperation = Operation::kSecondSum;

// Constants of GELU's approximation by tanh: β = √(2 / π).
inline constexpr float kGeluBeta = 0.79788456080286541F;
inline constexpr float kGeluKappa = 0.044715F;

constexpr bool is_function(Operation operation) {
  return operation >= kFirstFunction && operation < kFirstRowFunction;
}
constexpr bool is_row_function(Operation operation) {
  return operation >= kFirstRowFunction && operation <= Operation::kNormDots;
}
// Whether the result of a row function is a row.
constexpr bool is_row_map(Operation operation) {
  return operation >= kFirstRowFunction && operation < Operation::kRowMaximum;
}
constexpr bool is_row_loop(Operation operation) { return operation >= kFirstRowLoop; }
constexpr bool is_column_sum(Operation operation) { return operation >= kFirstColumnSum; }
// Whether a row function adds it up.
constexpr bool is_sum_of_pass(Operation operation) { return operation >= Operation::kFirstSum; }
// Whether a region needs rows for it.
constexpr bool needs_rows(Operation operation) {
  return operation >= kFirstRowFunction || operation == Operation::kColumnIndex;
}

int num_operands(Operation operation);
// How many of them, the first ones, need a number for each element.
int num_full_operands(Operation operation);

// An operand of a loop: numbers, or one number for all elements.
struct LoopOperand {
  const float* numbers = nullptr;
  float number = 0;
};

// Computes `count` elements. `out` may be one of the operands' numbers.
using Loop = void (*)(float* out, const LoopOperand* operands, size_t count);

// An operand of a loop over rows: where its numbers are, and how far those of the next row are
// away.
struct RowOperand {
  const float* numbers = nullptr;
  size_t stride = 0;
};

// Computes rows. The result has one after the other; of a sum of columns, adds them to `out`, which
// is one row.
using RowLoop = void (*)(float* out, const RowOperand* operands, size_t width, size_t num_rows);

// Sets of instructions that loops are compiled for. With kAvx2 and kAvx512 loops multiply and add
// in one rounding.
enum class Simd : uint8_t { kPlain, kAvx2, kAvx512 };

// The loop of the operation whose operands are numbers where the mask has no bit.
// REQUIRES: operation < kFirstFunction.
Loop loop_of(Operation operation, unsigned single_mask, Simd simd);

// REQUIRES: is_row_loop(operation).
RowLoop row_loop_of(Operation operation, Simd simd);

// The largest set of this processor.
Simd best_simd();

}  // namespace rtrain::compile
