// host/loop/worker_descriptors.h: what a worker process starts with: descriptors, and the rank on
// its command line.
#pragma once

namespace rtrain {

inline constexpr int kChannelFd = 3;  // its end of the channel
inline constexpr int kFunctionsFd = 4;
inline constexpr int kProgressFd = 5;
inline constexpr int kEngineFd = 6;
inline constexpr int kCommitsFd = 7;  // of a CommitBoard

// Of a process that has none yet (host/worker/standby.h).
inline constexpr int kStandbyRank = -1;

}  // namespace rtrain
