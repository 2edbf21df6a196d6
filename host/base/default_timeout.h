// host/base/default_timeout.h: the default limit of a wait for other ranks or processes: half an
// hour, as in PyTorch. Lua has it as base._system.default_timeout_s.
#pragma once

#include <chrono>

namespace rtrain {

inline constexpr std::chrono::seconds kDefaultTimeout{1800};
inline constexpr double kDefaultTimeoutS = kDefaultTimeout.count();

}  // namespace rtrain
