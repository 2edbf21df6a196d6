// host/cli/train/far_session.h: the ssh that runs the script of `rtrain run --nodes` on node 0.
#pragma once

#include <string>
#include <vector>

namespace rtrain::cli {

// Runs the command until it ends, and returns its exit code. With `terminal` it gets this process's
// terminal, whose Ctrl-C ssh passes on. Without, signals to this process are written to its input,
// a line with the name of each: rtrain/nodes/remote.lua has the other end. Throws
// Error(kEnvironment) where it cannot be started.
int run_far_session(const std::vector<std::string>& words, bool terminal);

}  // namespace rtrain::cli
