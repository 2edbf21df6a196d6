#include "host/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace rtrain {

bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t extra = lead < 0x80                   ? 0
                         : lead >= 0xc2 && lead < 0xe0 ? 1
                         : (lead & 0xf0) == 0xe0       ? 2
                         : lead >= 0xf0 && lead < 0xf5 ? 3
                                                       : 4;
    if (extra == 4 || text.size() - i <= extra) return false;
    uint32_t point = extra == 0 ? lead : lead & (0x3fU >> extra);
    for (size_t k = 1; k <= extra; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fU);
    }
    if (extra == 2 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) return false;
    if (extra == 3 && (point < 0x10000 || point > 0x10ffff)) return false;
    i += extra + 1;
  }
  return true;
}

}  // namespace rtrain
