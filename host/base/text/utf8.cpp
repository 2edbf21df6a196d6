#include "host/base/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace rtrain {

size_t utf8_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t eight = 0;  // bytes of ASCII at once
    if (text.size() - i >= sizeof eight) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080U) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(lead);
    if (length == 0 || text.size() - i < length) return false;
    const size_t extra = length - 1;
    uint32_t point = extra == 0 ? lead : lead & (0x3fU >> extra);
    for (size_t k = 1; k <= extra; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fU);
    }
    if (extra == 2 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) return false;
    if (extra == 3 && (point < 0x10000 || point > 0x10ffff)) return false;
    i += length;
  }
  return true;
}

}  // namespace rtrain
