#include "host/base/codec/masked_crc.h"

#include <array>
#include <bit>
#include <cstring>

namespace rtrain {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kStep = 8;  // bytes that are looked up at once
using Tables = std::array<std::array<uint32_t, 256>, kStep>;

// tables[k][byte]: the checksum of the byte with k zeros behind it. The polynomial is 0x1EDC6F41,
// bit by bit from the lowest.
Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? value >> 1 ^ 0x82F63B78 : value >> 1;
    }
    tables[0][i] = value;
  }
  for (size_t k = 1; k < kStep; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = tables[0][before & 0xFF] ^ before >> 8;
    }
  }
  return tables;
}

}  // namespace

uint32_t masked_crc(std::string_view bytes) {
  static const Tables tables = make_tables();
  uint32_t crc = 0xFFFFFFFF;
  for (; bytes.size() >= kStep; bytes.remove_prefix(kStep)) {
    uint64_t next = 0;
    std::memcpy(&next, bytes.data(), kStep);
    next ^= crc;
    crc = 0;
    for (size_t i = 0; i < kStep; ++i) crc ^= tables[kStep - 1 - i][next >> (8 * i) & 0xFF];
  }
  for (const char c : bytes) crc = tables[0][(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ crc >> 8;
  crc = ~crc;
  return std::rotr(crc, 15) + 0xA282EAD8;
}

}  // namespace rtrain
