// host/store/patience.h: how long a run waits for its store: for room on a full disk, for another
// program's lock.
#pragma once

#include <chrono>

namespace rtrain {

// RTRAIN_STORE_PATIENCE_S in the environment (0: not at all), else 60 s. Throws Error(kConfig)
// where that is no number of seconds.
std::chrono::milliseconds store_patience();

}  // namespace rtrain
