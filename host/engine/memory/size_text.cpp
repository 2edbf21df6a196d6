#include "host/engine/memory/size_text.h"

#include <array>
#include <cstdio>

namespace rtrain::engine {

std::string size_text(int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", size, kUnits[unit]);
  return text.data();
}

}  // namespace rtrain::engine
