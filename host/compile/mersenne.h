// host/compile/mersenne.h: masks of dropout from a Mersenne Twister (mt19937), many numbers at a
// time.
//
// The numbers are those that LibTorch's generator for the CPU draws one by one, in the same order,
// and the state afterwards is the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rtrain::compile {

struct Mersenne {
  static constexpr size_t kSize = 624;

  std::array<uint32_t, kSize> state{};
  size_t next = kSize;  // the first word that has not been drawn

  // Writes 1 with the probability and else 0, as a double drawn from [0, 1) that is less than it.
  void draw_mask(float* out, size_t count, double probability);
  void draw_mask(bool* out, size_t count, double probability);

 private:
  void draw(uint32_t* out, size_t count);
  void advance();
};

}  // namespace rtrain::compile
