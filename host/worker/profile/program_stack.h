// host/worker/profile/program_stack.h: the stacks of the threads of a rank's program, if that is a
// Python program.
//
// Each such program runs python/sitecustomize.py. At a signal Python's faulthandler then writes the
// stacks of all threads into a memory file, also while a thread is in native code. A program
// without this handler gets no signal.
#pragma once

#include <string_view>
#include <vector>

#include "host/loop/messages/to_controller.h"

namespace rtrain::worker {

// Returns the stacks; Python's main thread comes first. Empty where neither the process nor a child
// of it runs Python, or where none has answered within a second. Thread: any, but one at a time.
std::vector<loop::ThreadStack> program_stack(int pid);

// Turns the output of faulthandler into stacks with frames "train.py:12 in step".
std::vector<loop::ThreadStack> parse_faulthandler(std::string_view text);

}  // namespace rtrain::worker
