// host/cli/train/requeue.h: puts the job of a preempted run back into its scheduler's queue.
#pragma once

#include <string>

#include "host/lua/state.h"

namespace rtrain::cli {

// The shell command that queues this process's job again, from modules/rtrain/launch/. Empty
// without such a job, and if another process must run it. `launcher`: --launcher, or empty.
std::string find_requeue_command(lua::State& state, const std::string& launcher);

// If this process ends, in any way, with the exit code of a preempted run, runs the shell command,
// which queues the job again. If the command fails, its output is shown. Functions that are
// registered later with on_exit() run before.
void requeue_when_preempted(const std::string& command);

}  // namespace rtrain::cli
