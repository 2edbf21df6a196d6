#include "host/compile/kernel_text.h"

namespace rtrain::compile {
namespace {

// $0, $1 …: the operands. An intrinsic is never joined with what is around it; where one kernel of
// ATen has a product in a sum, nvcc has joined both, and it is one intrinsic here.
const char* pattern_of(Operation operation) {
  using enum Operation;
  switch (operation) {
    case kNegate:
      return "-$0";
    case kAbsolute:
      return "fabsf($0)";
    case kReciprocal:
      return "__fdiv_rn(1.0f, $0)";
    case kReciprocalRoot:
      return "rsqrtf($0)";
    case kRelu:
      return "$0 < 0.0f ? 0.0f : $0";
    case kAdd:
      return "__fadd_rn($0, $1)";
    case kSubtract:
      return "__fsub_rn($0, $1)";
    case kMultiply:
      return "__fmul_rn($0, $1)";
    case kDivide:
      return "__fdiv_rn($0, $1)";
    case kTanhBackward:
      return "__fmul_rn($0, __fmaf_rn(-$1, $1, 1.0f))";
    case kSigmoidBackward:
      return "__fmul_rn(__fmul_rn($0, __fsub_rn(1.0f, $1)), $1)";
    case kSiluBackward:
      return "__fmul_rn(__fmul_rn($0, $2), __fmaf_rn($1, __fsub_rn(1.0f, $2), 1.0f))";
    case kGelu:
      return "__fmul_rn(__fmul_rn(0.5f, $0), __fadd_rn(1.0f, $1))";
    case kGeluBackward:
      return "gelu_slope($0, $1, $2)";
    case kAddScaled:
      return "__fmaf_rn($1, $2, $0)";
    case kAddProduct:
      return "__fmaf_rn($3, __fmul_rn($1, $2), $0)";
    case kAddQuotient:
      return "__fmaf_rn($3, __fdiv_rn($1, $2), $0)";
    case kThresholdBackward:
      return "$1 <= $2 ? 0.0f : $0";
    case kGreater:
      return "$0 > $1 ? 1.0f : 0.0f";
    case kEqual:
      return "$0 == $1 ? 1.0f : 0.0f";
    case kSelect:
      return "$0 != 0.0f ? $1 : $2";
    case kSubtractProduct:
      return "__fmaf_rn(-$1, $2, $0)";
    case kExp:
    case kExpInKernel:
      return "expf($0)";
    case kLog:
      return "logf($0)";
    case kTanh:
      return "tanhf($0)";
    case kErf:
      return "erff($0)";
    case kSin:
      return "sinf($0)";
    case kCos:
      return "cosf($0)";
    case kSqrt:
      return "__fsqrt_rn($0)";
    case kLog1p:
    case kLog1pInKernel:
      return "log1pf($0)";
    case kExpm1:
      return "expm1f($0)";
    case kSigmoidDivisor:
      return "__fadd_rn(1.0f, expf(-$0))";
    case kGeluTanh:
      return "gelu_tanh($0)";
    case kNormalShare:
      return "__fmul_rn(0.5f, __fadd_rn(1.0f, erff(__fmul_rn($0, 0.707106769f))))";
    case kRoundToFloat16:
      return "rounded<Float16>($0)";
    case kRoundToBFloat16:
      return "rounded<BFloat16>($0)";
    case kNorm:
      return "__fmaf_rn(__fmul_rn(__fsub_rn($0, $3), $4), $1, $2)";
    case kNormBackward:
      return "__fadd_rn(__fmaf_rn($4, $2, __fmul_rn(__fmul_rn($3, $0), $1)), $5)";
    default:  // kCopy, kSpread
      return "$0";
  }
}

}  // namespace

std::string kernel_formula(Operation operation, std::span<const std::string> operands) {
  std::string out;
  for (const char* at = pattern_of(operation); *at != 0; ++at) {
    if (*at != '$') {
      out += *at;
      continue;
    }
    ++at;
    out += operands[static_cast<size_t>(*at - '0')];
  }
  return out;
}

}  // namespace rtrain::compile
