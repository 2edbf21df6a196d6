// host/store/series/series_bytes.h: compact encoding of integers in chunks of a series and in
// summaries, with checks when reading. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rtrain::store {

// Differences wrap around, so that any two numbers have one.
inline int64_t wrapped_minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapped_plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Maps small numbers of either sign to small unsigned numbers.
inline uint64_t zigzag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
inline int64_t unzigzag(uint64_t n) {
  return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
}

// Seven bits per byte, lowest first.
void put_varint(std::string& out, uint64_t n);
// Little-endian.
void put_fixed(std::string& out, uint64_t n, size_t bytes);

// Whether the value is exactly a float. False for NaN, whose payload might not survive.
bool is_float(double value);

// Throws Error(kEnvironment): the store did not write these bytes.
[[noreturn]] void throw_damaged_series();

// Reads from the front. Throws if the bytes end too early.
class SeriesBytes {
 public:
  explicit SeriesBytes(std::string_view text) : text_(text) {}

  uint64_t varint();
  uint64_t fixed(size_t bytes);
  std::string_view take(size_t count);
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace rtrain::store
