#include "host/store/patience.h"

#include <algorithm>

#include "host/base/clock.h"
#include "host/base/seconds_setting.h"

namespace rtrain {

std::chrono::milliseconds store_patience() {
  constexpr double kDefaultS = 60;
  constexpr double kMostS = 1e6;  // SQLite counts milliseconds in an int
  return to_ms(std::min(
      seconds_setting("RTRAIN_STORE_PATIENCE_S", kDefaultS, ZeroSeconds::kAllowed), kMostS));
}

}  // namespace rtrain
