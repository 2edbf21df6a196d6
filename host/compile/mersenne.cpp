#include "host/compile/mersenne.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace rtrain::compile {
namespace {

constexpr size_t kMiddle = 397;

[[gnu::always_inline]] inline uint32_t twisted(uint32_t a, uint32_t b) {
  const uint32_t mixed = (a & 0x80000000U) | (b & 0x7fffffffU);
  return (mixed >> 1) ^ ((0U - (b & 1U)) & 0x9908b0dfU);
}

[[gnu::always_inline]] inline uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

// Words that are computed together are further apart than a vector is long.
[[gnu::always_inline]] inline void advance_words(uint32_t* state) {
  constexpr size_t kSize = Mersenne::kSize;
#pragma omp simd safelen(64)
  for (size_t i = 0; i < kSize - kMiddle; ++i) {
    state[i] = state[i + kMiddle] ^ twisted(state[i], state[i + 1]);
  }
#pragma omp simd safelen(64)
  for (size_t i = kSize - kMiddle; i < kSize - 1; ++i) {
    state[i] = state[i + kMiddle - kSize] ^ twisted(state[i], state[i + 1]);
  }
  state[kSize - 1] = state[kMiddle - 1] ^ twisted(state[kSize - 1], state[0]);
}

[[gnu::always_inline]] inline void temper_words(uint32_t* out, const uint32_t* words,
                                                size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = tempered(words[i]);
}

// A double has 53 bits: the low 21 of the first word and the second word.
[[gnu::always_inline]] inline void compare(float* out, const uint32_t* words, size_t count,
                                           uint64_t limit) {
  const auto high_limit = static_cast<int32_t>(limit >> 32);
  const auto low_limit = static_cast<uint32_t>(limit);
  for (size_t i = 0; i < count; ++i) {
    const auto high = static_cast<int32_t>(words[2 * i] & 0x1fffffU);
    const uint32_t low = words[2 * i + 1];
    const bool is_less = (high < high_limit) | ((high == high_limit) & (low < low_limit));
    out[i] = is_less ? 1.0F : 0.0F;
  }
}

struct Loops {
  void (*advance)(uint32_t*);
  void (*temper)(uint32_t*, const uint32_t*, size_t);
  void (*compare)(float*, const uint32_t*, size_t, uint64_t);
};

void plain_advance(uint32_t* state) { advance_words(state); }
void plain_temper(uint32_t* out, const uint32_t* words, size_t count) {
  temper_words(out, words, count);
}
void plain_compare(float* out, const uint32_t* words, size_t count, uint64_t limit) {
  compare(out, words, count, limit);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void avx2_advance(uint32_t* state) { advance_words(state); }
[[gnu::target("avx2")]] void avx2_temper(uint32_t* out, const uint32_t* words, size_t count) {
  temper_words(out, words, count);
}
[[gnu::target("avx2")]] void avx2_compare(float* out, const uint32_t* words, size_t count,
                                          uint64_t limit) {
  compare(out, words, count, limit);
}
#endif

Loops loops_of_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return {&avx2_advance, &avx2_temper, &avx2_compare};
#endif
  return {&plain_advance, &plain_temper, &plain_compare};
}

const Loops& loops() {
  static const Loops kLoops = loops_of_processor();
  return kLoops;
}

}  // namespace

void Mersenne::advance() {
  loops().advance(state.data());
  next = 0;
}

void Mersenne::draw(uint32_t* out, size_t count) {
  while (count > 0) {
    if (next == kSize) advance();
    const size_t part = std::min(count, kSize - next);
    loops().temper(out, state.data() + next, part);
    next += part;
    out += part;
    count -= part;
  }
}

void Mersenne::draw_mask(float* out, size_t count, double probability) {
  constexpr size_t kAtOnce = 1024;
  // number · 2⁻⁵³ < probability, in whole numbers.
  const auto limit = static_cast<uint64_t>(std::ceil(std::ldexp(probability, 53)));
  std::array<uint32_t, 2 * kAtOnce> words;
  for (size_t done = 0; done < count; done += kAtOnce) {
    const size_t part = std::min(kAtOnce, count - done);
    draw(words.data(), 2 * part);
    loops().compare(out + done, words.data(), part, limit);
  }
}

void Mersenne::draw_mask(bool* out, size_t count, double probability) {
  constexpr size_t kAtOnce = 1024;
  std::array<float, kAtOnce> numbers;
  for (size_t done = 0; done < count; done += kAtOnce) {
    const size_t part = std::min(kAtOnce, count - done);
    draw_mask(numbers.data(), part, probability);
    for (size_t i = 0; i < part; ++i) out[done + i] = numbers[i] != 0;
  }
}

}  // namespace rtrain::compile
