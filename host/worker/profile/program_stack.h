// host/worker/profile/program_stack.h: where the threads of a rank's program are, if it is
// Python's.
//
// Each such program runs python/sitecustomize.py, which has Python's faulthandler write the stacks
// of all threads into a memory file when a signal comes: also while a thread is in native code. A
// program without that handler gets no signal.
#pragma once

#include <string_view>
#include <vector>

#include "host/loop/messages/to_controller.h"

namespace rtrain::worker {

// The thread that took the signal, Python's main one, comes first. Empty where neither the process
// nor one that it has started is Python's, or none has answered within a second. Any thread, one at
// a time.
std::vector<loop::ThreadStack> program_stack(int pid);

// The output of faulthandler, as stacks with frames "train.py:12 in step".
std::vector<loop::ThreadStack> parse_faulthandler(std::string_view text);

}  // namespace rtrain::worker
