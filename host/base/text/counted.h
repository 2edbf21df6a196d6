// host/base/text/counted.h: formats a number with its noun.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "host/base/text/text.h"

namespace rtrain {

// 1, "core" → "1 core"; 2 → "2 cores".
inline std::string counted(size_t count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace rtrain
