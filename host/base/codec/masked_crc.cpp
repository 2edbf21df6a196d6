#include "host/base/codec/masked_crc.h"

#include <array>
#include <bit>

namespace rtrain {
namespace {

// The polynomial is 0x1EDC6F41, bit by bit from the lowest.
std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? value >> 1 ^ 0x82F63B78 : value >> 1;
    }
    table[i] = value;
  }
  return table;
}

}  // namespace

uint32_t masked_crc(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = make_table();
  uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) crc = table[(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ crc >> 8;
  crc = ~crc;
  return std::rotr(crc, 15) + 0xA282EAD8;
}

}  // namespace rtrain
