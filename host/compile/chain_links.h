// host/compile/chain_links.h: the links of chains, compiled for one set of instructions. A file
// that includes it defines kBytes and Vectors' functions for it, and includes nothing else: what it
// instantiates must not be in other files.
#pragma once

#include <immintrin.h>

#include <utility>

#include "host/compile/chain.h"
#include "host/compile/formulas.h"

namespace rtrain::compile::RT_CHAIN_SET {

#if defined(__AVX512F__)
constexpr size_t kBytes = 64;
#else
constexpr size_t kBytes = 32;
#endif
constexpr size_t kVectors = 8;  // of a block: as many as are passed in registers

using Vector [[gnu::vector_size(kBytes)]] = float;

struct Vectors {
  using Number = Vector;
#if defined(__AVX512F__)
  static Vector of(float number) { return _mm512_set1_ps(number); }
  static Vector load(const void* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector a) { _mm512_storeu_ps(to, a); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector absolute(Vector a) { return _mm512_abs_ps(a); }
  static Vector root(Vector a) { return _mm512_sqrt_ps(a); }
#else
  static Vector of(float number) { return _mm256_set1_ps(number); }
  static Vector load(const char* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static void store(float* to, Vector a) { _mm256_storeu_ps(to, a); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static Vector absolute(Vector a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
  static Vector root(Vector a) { return _mm256_sqrt_ps(a); }
#endif
  template <class Condition>
  static Vector choose(Condition condition, Vector a, Vector b) {
    return condition ? a : b;
  }
};

using Function = void (*)(const Link*, size_t, Vector, Vector, Vector, Vector, Vector, Vector,
                          Vector, Vector);

[[gnu::always_inline]] inline void go_on(const Link* link, size_t offset, Vector a0, Vector a1,
                                         Vector a2, Vector a3, Vector a4, Vector a5, Vector a6,
                                         Vector a7) {
  reinterpret_cast<Function>(link->function)(link, offset, a0, a1, a2, a3, a4, a5, a6, a7);
}

// Where the vectors of an operand are: the addresses from which one instruction gets to each.
struct Places {
  Places(const Link* link, size_t operand, size_t offset) {
    const size_t mask = link->masks[operand];
    step = kBytes & mask;
    zero = reinterpret_cast<const char*>(link->operands[operand]) + (offset & mask);
    two = zero + 2 * step;
    three = two + step;
  }

  [[gnu::always_inline]] Vector vector(size_t index) const {
    const char* from = index == 6 ? two + 4 * step : zero + index * step;
    if (index == 2) from = two;
    if (index == 3 || index == 5 || index == 7) from = three + (index - 3) * step;
    return Vectors::load(from);
  }

  const char* zero;
  const char* two;
  const char* three;
  size_t step;
};

template <Operation kOperation, unsigned kHeld>
class Operands {
  static constexpr size_t kCount = formulas::kCounts[static_cast<size_t>(kOperation)];

 public:
  [[gnu::always_inline]] Operands(const Link* link, size_t offset)
      : places_{{link, 0, offset}, {link, 1, offset}, {link, 2, offset}, {link, 3, offset}} {}

  [[gnu::always_inline]] Vector computed(size_t index, Vector block) const {
    return formulas::apply<kOperation, Vectors>(of<0>(index, block), of<1>(index, block),
                                                of<2>(index, block), of<3>(index, block));
  }

 private:
  template <size_t kOperand>
  [[gnu::always_inline]] Vector of(size_t index, Vector block) const {
    if constexpr (kOperand >= kCount || (kHeld >> kOperand & 1U) != 0) return block;
    return places_[kOperand].vector(index);
  }

  Places places_[kMostElementOperands];
};

template <Operation kOperation, unsigned kHeld>
void compute(const Link* link, size_t offset, Vector a0, Vector a1, Vector a2, Vector a3, Vector a4,
             Vector a5, Vector a6, Vector a7) {
  const Operands<kOperation, kHeld> operands(link, offset);
  go_on(link + 1, offset, operands.computed(0, a0), operands.computed(1, a1),
        operands.computed(2, a2), operands.computed(3, a3), operands.computed(4, a4),
        operands.computed(5, a5), operands.computed(6, a6), operands.computed(7, a7));
}

[[gnu::always_inline]] inline void write(const Link* link, size_t offset, Vector a0, Vector a1,
                                         Vector a2, Vector a3, Vector a4, Vector a5, Vector a6,
                                         Vector a7) {
  float* out = link->out + offset / sizeof(float);
  constexpr size_t kWidth = kBytes / sizeof(float);
  Vectors::store(out, a0);
  Vectors::store(out + kWidth, a1);
  Vectors::store(out + 2 * kWidth, a2);
  Vectors::store(out + 3 * kWidth, a3);
  Vectors::store(out + 4 * kWidth, a4);
  Vectors::store(out + 5 * kWidth, a5);
  Vectors::store(out + 6 * kWidth, a6);
  Vectors::store(out + 7 * kWidth, a7);
}

inline void store(const Link* link, size_t offset, Vector a0, Vector a1, Vector a2, Vector a3,
                  Vector a4, Vector a5, Vector a6, Vector a7) {
  write(link, offset, a0, a1, a2, a3, a4, a5, a6, a7);
}

inline void keep(const Link* link, size_t offset, Vector a0, Vector a1, Vector a2, Vector a3,
                 Vector a4, Vector a5, Vector a6, Vector a7) {
  write(link, offset, a0, a1, a2, a3, a4, a5, a6, a7);
  go_on(link + 1, offset, a0, a1, a2, a3, a4, a5, a6, a7);
}

inline void run(const Link* links, size_t count) {
  const Vector zero{};
  for (size_t offset = 0; offset < count * sizeof(float); offset += kVectors * kBytes) {
    go_on(links, offset, zero, zero, zero, zero, zero, zero, zero, zero);
  }
}

constexpr size_t kNumOperations = static_cast<size_t>(kFirstFunction);
constexpr size_t kNumMasks = size_t{1} << kMostElementOperands;

template <size_t kOperation, unsigned kHeld>
LinkFunction entry() {
  if constexpr (kHeld >> formulas::kCounts[kOperation] != 0) return nullptr;
  return reinterpret_cast<LinkFunction>(&compute<static_cast<Operation>(kOperation), kHeld>);
}

template <size_t kOperation, unsigned... kHeld>
LinkFunction of_mask(unsigned held, std::integer_sequence<unsigned, kHeld...>) {
  static const LinkFunction kTable[] = {entry<kOperation, kHeld>()...};
  return kTable[held];
}

template <size_t... kOperation>
LinkFunction of_operation(size_t operation, unsigned held, std::index_sequence<kOperation...>) {
  LinkFunction out = nullptr;
  constexpr auto kMasks = std::make_integer_sequence<unsigned, kNumMasks>();
  ((kOperation == operation ? void(out = of_mask<kOperation>(held, kMasks)) : void()), ...);
  return out;
}

inline LinkFunction of(Operation operation, unsigned held) {
  constexpr auto kOperations = std::make_index_sequence<kNumOperations>();
  return of_operation(static_cast<size_t>(operation), held, kOperations);
}

inline const ChainFunctions* functions() {
  static const ChainFunctions kFunctions = {.block = kVectors * kBytes / sizeof(float),
                                            .of = &of,
                                            .keep = reinterpret_cast<LinkFunction>(&keep),
                                            .store = reinterpret_cast<LinkFunction>(&store),
                                            .run = &run};
  return &kFunctions;
}

}  // namespace rtrain::compile::RT_CHAIN_SET
