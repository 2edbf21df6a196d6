// host/base/seconds_setting.h: a duration that an environment variable sets.
#pragma once

namespace rtrain {

enum class ZeroSeconds { kRefused, kAllowed };

// The seconds in the variable `name`; `otherwise` where it is not set, or empty. Throws
// Error(kConfig), which names both, for a text that is not a number of seconds above 0.
double seconds_setting(const char* name, double otherwise,
                       ZeroSeconds zero = ZeroSeconds::kRefused);

}  // namespace rtrain
