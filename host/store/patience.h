// host/store/patience.h: how long a run waits for its store: for room on a full disk, for another
// program's lock.
#pragma once

#include <chrono>

namespace rtrain {

// RTRAIN_STORE_PATIENCE_S in the environment, else 60 s.
std::chrono::milliseconds store_patience();

}  // namespace rtrain
