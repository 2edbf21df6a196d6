// host/compile/operation.h: the operations of a region on float32, and their loops.
//
// Each has the formula and the rounding of ATen's kernel for the CPU: where ATen multiplies and
// adds in one rounding, so does the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

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
  kAddScaled,          // a + c · b, in one rounding
  kAddProduct,         // a + (d · b) · c, the sum in one rounding
  kAddQuotient,        // a + d · b / c
  kThresholdBackward,  // 0 where b ≤ c, else a
  kSelect,             // b where a ≠ 0, else c
};

inline constexpr int kMostOperands = 4;

int num_operands(Operation operation);
std::string_view name_of(Operation operation);

// An operand of a loop: numbers, or one number for all elements.
struct LoopOperand {
  const float* numbers = nullptr;
  float number = 0;
};

// Computes `count` elements. `out` may be one of the operands' numbers.
using Loop = void (*)(float* out, const LoopOperand* operands, size_t count);

// The loop of the operation whose operands are numbers where the mask has no bit. Where
// `has_fma`, for processors with AVX2 and FMA.
Loop loop_of(Operation operation, unsigned single_mask, bool has_fma);

// Whether this processor runs the loops with FMA.
bool has_fma();

}  // namespace rtrain::compile
