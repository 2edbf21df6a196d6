// host/base/default_timeout.h: how long a wait for other ranks or processes lasts where nobody says
// otherwise: half an hour, as PyTorch has it. Lua has it as base._system.default_timeout_s.
#pragma once

#include <chrono>

namespace rtrain {

inline constexpr std::chrono::seconds kDefaultTimeout{1800};
inline constexpr double kDefaultTimeoutS = kDefaultTimeout.count();

}  // namespace rtrain
