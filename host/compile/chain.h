// host/compile/chain.h: a chain of operations that work element by element: what one gives to the
// next stays in the processor's registers.
//
// A link is a function that computes a block of numbers, and goes on with the next link's function
// by a jump, with the block in vector registers.
#pragma once

#include <cstddef>

#include "host/compile/operation.h"

namespace rtrain::compile {

// A function of Link, with the block's vectors as further arguments.
using LinkFunction = void (*)();

struct Link {
  LinkFunction function = nullptr;
  // Operands that are not the block. A number for all elements is in `number`.
  const float* operands[kMostElementOperands] = {};
  size_t masks[kMostElementOperands] = {};  // of offsets in bytes: 0 for such a number
  float* out = nullptr;                     // where a link that stores writes to
  // Operands, and behind them `out`, that go on where the numbers before end.
  unsigned moving = 0;

  void set(size_t operand, const LoopOperand& from);
  // Behind the first `count` numbers.
  void move(size_t count);

 private:
  static constexpr size_t kVector = 16;
  alignas(64) float numbers_[kMostElementOperands][kVector];
};

struct ChainFunctions {
  size_t block = 0;  // numbers
  // That of an operation whose operands of the mask are the block; no operand has to be.
  LinkFunction (*of)(Operation operation, unsigned held) = nullptr;
  LinkFunction keep = nullptr;   // stores the block and goes on
  LinkFunction store = nullptr;  // stores the block: the last link
  // Computes `count` numbers, whole blocks.
  void (*run)(const Link* links, size_t count) = nullptr;
};

// For processors that have these instructions; nullptr for kPlain.
const ChainFunctions* chain_functions(Simd simd);

const ChainFunctions* avx2_chain_functions();
const ChainFunctions* avx512_chain_functions();

}  // namespace rtrain::compile
