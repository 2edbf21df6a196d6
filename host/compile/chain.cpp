#include "host/compile/chain.h"

#include <algorithm>

namespace rtrain::compile {

void Link::set(size_t operand, const LoopOperand& from) {
  masks[operand] = from.numbers == nullptr ? 0 : ~size_t{0};
  operands[operand] = from.numbers;
  if (from.numbers != nullptr) return;
  std::fill_n(numbers_[operand], kVector, from.number);
  operands[operand] = numbers_[operand];
}

void Link::move(size_t count) {
  for (size_t i = 0; i < kMostElementOperands; ++i) operands[i] += (moving >> i & 1U) * count;
  out += (moving >> kMostElementOperands & 1U) * count;
}

const ChainFunctions* chain_functions([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) return avx512_chain_functions();
  if (simd == Simd::kAvx2) return avx2_chain_functions();
#endif
  return nullptr;
}

}  // namespace rtrain::compile
