// host/loop/worker_descriptors.h: the descriptors that a worker process starts with.
#pragma once

namespace rtrain {

inline constexpr int kChannelFd = 3;  // its end of the channel
inline constexpr int kFunctionsFd = 4;
inline constexpr int kProgressFd = 5;
inline constexpr int kEngineFd = 6;

}  // namespace rtrain
