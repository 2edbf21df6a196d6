#include "host/store/patience.h"

#include <cstdlib>

namespace rtrain {

std::chrono::milliseconds store_patience() {
  constexpr double kDefaultS = 60;
  const char* text = std::getenv("RTRAIN_STORE_PATIENCE_S");
  char* end = nullptr;
  const double given = text == nullptr ? kDefaultS : std::strtod(text, &end);
  const bool usable = text == nullptr || (end != text && given >= 0 && given < 1e6);
  return std::chrono::milliseconds(static_cast<int64_t>((usable ? given : kDefaultS) * 1000));
}

}  // namespace rtrain
