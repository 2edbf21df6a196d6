// tests/sim/draws.h: the random choices of a simulated world, drawn from a seed or given.
//
// A world takes all its choices from here, so equal draws give the same life. 0 is always the least
// eventful choice: a world that draws only zeros has no fault and comes to its end.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace rtrain::sim {

class Draws {
 public:
  // Draws from the seed and records the draws in taken().
  explicit Draws(uint64_t seed) : random_(seed) {}
  // Returns the given numbers, then zeros.
  explicit Draws(std::vector<uint32_t> given) : given_(std::move(given)), is_given_(true) {}

  // Returns a number from 0 to count - 1.
  int below(int count);
  // Returns true with this probability; the draw 0 always means false.
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
