// host/cli/train/requeue.h: a preempted run's job goes back into its scheduler's queue.
#pragma once

#include <string>

#include "host/lua/state.h"

namespace rtrain {

// The shell command that starts the job of this process again: modules/rtrain/launch/ tells. Empty
// without such a job, and where another process is to give it. `launcher`: --launcher, or empty.
std::string find_requeue_command(State& state, const std::string& launcher);

// When this process ends with the code of a preempted run, however it ends, the shell command is
// run: it starts the job again. What it says when it fails is shown. Later calls of on_exit() are
// served before.
void requeue_when_preempted(const std::string& command);

}  // namespace rtrain
