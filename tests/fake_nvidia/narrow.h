// tests/fake_nvidia/narrow.h: numbers of 16 bits, as a device converts them: to the nearest one, of
// two to the even one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace narrow {

inline float float_of_bfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out = 0;
  std::memcpy(&out, &wide, sizeof out);
  return out;
}

inline float float_of_float16(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float out = 0;
  if (exponent == 31) {
    out = fraction == 0 ? INFINITY : NAN;
  } else {
    out = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                        : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -out : out;
}

// The nearest multiple of the step between neighbours of `digits` binary digits, whose smallest
// exponent is `least`.
inline double nearest(double value, int digits, int least) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int step = std::max(std::ilogb(value), least) - (digits - 1);
  return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
}

inline uint16_t float16_of(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double size = std::abs(nearest(value, 11, -14));
  if (size > 65504) return sign | 0x7c00;
  if (size < std::ldexp(1.0, -14)) return sign | static_cast<uint16_t>(std::ldexp(size, 24));
  const int exponent = std::ilogb(size);
  const auto fraction = static_cast<uint16_t>(std::ldexp(size, 10 - exponent) - 1024);
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | fraction);
}

inline uint16_t bfloat16_of(double value) {
  if (std::isnan(value)) return 0x7fff;
  const auto rounded = static_cast<float>(nearest(value, 8, -126));
  uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace narrow
