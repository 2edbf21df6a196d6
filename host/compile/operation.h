// host/compile/operation.h: the operations of a region on float32, and their loops.
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
  kSelect,             // b where a ≠ 0, else c
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
};

inline constexpr int kMostOperands = 4;
inline constexpr auto kFirstFunction = Operation::kExp;
inline constexpr auto kLastOperation = Operation::kGeluTanh;

// Constants of GELU's approximation by tanh: β = √(2 / π).
inline constexpr float kGeluBeta = 0.79788456080286541F;
inline constexpr float kGeluKappa = 0.044715F;

constexpr bool is_function(Operation operation) { return operation >= kFirstFunction; }

int num_operands(Operation operation);

// An operand of a loop: numbers, or one number for all elements.
struct LoopOperand {
  const float* numbers = nullptr;
  float number = 0;
};

// Computes `count` elements. `out` may be one of the operands' numbers.
using Loop = void (*)(float* out, const LoopOperand* operands, size_t count);

// Sets of instructions that loops are compiled for. With kAvx2 and kAvx512 loops multiply and add
// in one rounding.
enum class Simd : uint8_t { kPlain, kAvx2, kAvx512 };

// The loop of the operation whose operands are numbers where the mask has no bit.
// REQUIRES: !is_function(operation).
Loop loop_of(Operation operation, unsigned single_mask, Simd simd);

// The largest set of this processor.
Simd best_simd();

}  // namespace rtrain::compile
