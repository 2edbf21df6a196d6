// host/base/seconds_setting.h: reads a duration from an environment variable.
#pragma once

namespace rtrain {

enum class ZeroSeconds { kRefused, kAllowed };

// The seconds in the variable `name`; `otherwise` if it is unset or empty. Throws Error(kConfig)
// that names the variable and its value if that is not a number of seconds above 0.
double seconds_setting(const char* name, double otherwise,
                       ZeroSeconds zero = ZeroSeconds::kRefused);

}  // namespace rtrain
