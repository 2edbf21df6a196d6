// host/loop/processes/worker_descriptors.h: the equipment of a worker process at its start:
// descriptors, and the rank on its command line.
#pragma once

namespace rtrain::loop {

inline constexpr int kChannelFd = 3;  // its end of the channel
inline constexpr int kFunctionsFd = 4;
inline constexpr int kProgressFd = 5;
inline constexpr int kEngineFd = 6;
inline constexpr int kCommitsFd = 7;  // of a CommitBoard

// On the command line of the process that workers are forked from (host/node/workers/zygote.h).
// Each writes its own rank over it, and the blanks make room for that.
inline constexpr const char* kZygoteRank = "-1        ";

}  // namespace rtrain::loop
