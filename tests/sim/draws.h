// tests/sim/draws.h: what a simulated world leaves to chance: numbers that are drawn at random, or
// given.
//
// A world asks for nothing else, so the same numbers make the same world. 0 is always the dullest
// answer: a world that gets zeros alone has no fault and comes to its end.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace rtrain::sim {

class Draws {
 public:
  // At random from a seed, kept in taken().
  explicit Draws(uint64_t seed) : random_(seed) {}
  // The given ones, then zeros.
  explicit Draws(std::vector<uint32_t> given) : given_(std::move(given)), is_given_(true) {}

  // From 0 to count - 1.
  int below(int count);
  // True that often; never for the number 0.
  bool chance(double probability);

  const std::vector<uint32_t>& taken() const { return taken_; }

 private:
  uint32_t next();

  std::mt19937_64 random_;
  std::vector<uint32_t> given_;
  bool is_given_ = false;
  std::vector<uint32_t> taken_;
};

}  // namespace rtrain::sim
