// host/store/series/series_bytes.h: whole numbers as few bytes, as the chunks of a series and their
// summaries are written, and read back with care. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rtrain {

// Differences wrap around: any two numbers have one.
inline int64_t wrapped_minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapped_plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Small numbers of either sign become small numbers.
inline uint64_t zigzag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
inline int64_t unzigzag(uint64_t n) {
  return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
}

// Seven bits a byte, the lowest ones first.
void put_varint(std::string& out, uint64_t n);
// The lowest byte first.
void put_fixed(std::string& out, uint64_t n, size_t bytes);

// Whether the number is the same as a float. No NaN is: its payload might not survive.
bool is_float(double value);

// Throws Error(kEnvironment): the bytes are not what the store wrote.
[[noreturn]] void throw_damaged_series();

// Reads from the front. Bytes that end too early are damaged.
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

}  // namespace rtrain
