// host/loop/processes/worker_descriptors.h: what a worker process gets at its start: descriptors,
// and its rank on the command line.
#pragma once

namespace rtrain::loop {

inline constexpr int kChannelFd = 3;  // the worker's end of the channel
inline constexpr int kFunctionsFd = 4;
inline constexpr int kProgressFd = 5;
inline constexpr int kEngineFd = 6;
inline constexpr int kCommitsFd = 7;  // a CommitBoard

// Is on the command line of the process that workers are forked from (host/node/workers/zygote.h).
// Each worker overwrites it with its own rank; the blanks leave space for longer ranks.
inline constexpr const char* kZygoteRank = "-1        ";

}  // namespace rtrain::loop
