#include "host/store/series/series_bytes.h"

#include <cmath>

#include "host/base/error.h"

namespace rtrain::store {
namespace {

constexpr int kMaxVarintBytes = 10;

}  // namespace

void put_varint(std::string& out, uint64_t n) {
  for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>(n | 0x80));
  out.push_back(static_cast<char>(n));
}

void put_fixed(std::string& out, uint64_t n, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(n >> (8 * i)));
}

bool is_float(double value) {
  return !std::isnan(value) && static_cast<double>(static_cast<float>(value)) == value;
}

void throw_damaged_series() {
  throw Error(Code::kEnvironment, "the store holds a damaged chunk of a series");
}

uint64_t SeriesBytes::varint() {
  uint64_t out = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    out |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) return out;
  }
  throw_damaged_series();
}

uint64_t SeriesBytes::fixed(size_t bytes) {
  uint64_t out = 0;
  size_t shift = 0;
  for (const char byte : take(bytes)) {
    out |= static_cast<uint64_t>(static_cast<unsigned char>(byte)) << shift;
    shift += 8;
  }
  return out;
}

std::string_view SeriesBytes::take(size_t count) {
  if (count > text_.size()) throw_damaged_series();
  const std::string_view out = text_.substr(0, count);
  text_.remove_prefix(count);
  return out;
}

}  // namespace rtrain::store
