// Masks are made of the numbers of mt19937, in their order.
#include "host/compile/mersenne.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace rtrain::compile {
namespace {

constexpr uint32_t kSeed = 2026;

Mersenne seeded() {
  Mersenne out;
  out.state[0] = kSeed;
  for (uint32_t i = 1; i < Mersenne::kSize; ++i) {
    const uint32_t before = out.state[i - 1];
    out.state[i] = 1812433253U * (before ^ (before >> 30)) + i;
  }
  return out;
}

float drawn(std::mt19937& random, double probability) {
  const uint64_t first = random();
  const uint64_t second = random();
  const uint64_t bits = ((first << 32) | second) & ((uint64_t{1} << 53) - 1);
  return std::ldexp(static_cast<double>(bits), -53) < probability ? 1.0F : 0.0F;
}

TEST(Mersenne, DrawsWhatTheGeneratorDraws) {
  std::mt19937 random(kSeed);
  Mersenne mersenne = seeded();
  const double probabilities[] = {0.9, 0.5, 1.0, 0.0, 1e-9, 0.1};
  size_t round = 0;
  for (const size_t count : {0, 1, 2, 5, 311, 312, 313, 623, 1024, 1025, 5000, 7}) {
    const double probability = probabilities[round++ % std::size(probabilities)];
    std::vector<float> mask(count);
    mersenne.draw_mask(mask.data(), count, probability);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(mask[i], drawn(random, probability)) << i;
  }
}

TEST(Mersenne, BytesAreTheSameMask) {
  Mersenne as_numbers = seeded();
  Mersenne as_bytes = seeded();
  for (const size_t count : {0, 1, 1024, 1025, 5000}) {
    std::vector<float> numbers(count);
    const auto bytes = std::make_unique<bool[]>(count + 1);
    as_numbers.draw_mask(numbers.data(), count, 0.3);
    as_bytes.draw_mask(bytes.get(), count, 0.3);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i] != 0, bytes[i]) << i;
  }
  EXPECT_EQ(as_numbers.state, as_bytes.state);
}

TEST(Mersenne, TheShareOfOnesIsTheProbability) {
  Mersenne mersenne = seeded();
  std::vector<float> mask(100000);
  mersenne.draw_mask(mask.data(), mask.size(), 0.25);
  double sum = 0;
  for (const float each : mask) sum += each;
  EXPECT_NEAR(sum / static_cast<double>(mask.size()), 0.25, 0.01);
}

}  // namespace
}  // namespace rtrain::compile
