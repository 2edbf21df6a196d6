#include "host/base/seconds_setting.h"

#include <cmath>
#include <cstdlib>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {

double seconds_setting(const char* name, double otherwise, ZeroSeconds zero) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const bool zero_too = zero == ZeroSeconds::kAllowed;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  const bool is_number = end != text && *end == '\0' && std::isfinite(seconds);
  if (is_number && (seconds > 0 || (zero_too && seconds == 0))) return seconds;
  throw Error(Code::kConfig, cat(name, " = '", text, "' in the environment: expected a number of ",
                                 "seconds ", zero_too ? "from 0 on" : "above 0"));
}

}  // namespace rtrain
