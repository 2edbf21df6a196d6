#include "tests/sim/draws.h"

namespace rtrain::sim {

uint32_t Draws::next() {
  const size_t at = taken_.size();
  const uint32_t drawn = !is_given_           ? static_cast<uint32_t>(random_())
                         : at < given_.size() ? given_[at]
                                              : 0;
  taken_.push_back(drawn);
  return drawn;
}

int Draws::below(int count) { return static_cast<int>(next() % static_cast<uint32_t>(count)); }

bool Draws::chance(double probability) {
  constexpr uint32_t kParts = 1'000'000;
  return next() % kParts >= (1 - probability) * kParts;
}

}  // namespace rtrain::sim
