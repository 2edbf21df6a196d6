// host/machine/processes/priority.h: threads of this process that leave the processor, and the
// machine's memory, to all others for a while.
#pragma once

#include <string>

namespace rtrain::machine {

// Whether this process may give a thread a lower priority and raise it again later: with
// CAP_SYS_NICE, or where RLIMIT_NICE allows it.
bool may_restore_priority();

// Until stepping forward one thread, and those that it starts, leave the processor to other threads
// for the most part, and the kernel ends this process first when memory is short.
class StepBack {
 public:
  // `tid`: the thread. Its priority stays where it could not be raised again.
  explicit StepBack(int tid);
  // Restores all threads of the process.
  void step_forward();

 private:
  bool is_nice_ = false;
  int nice_ = 0;
  std::string oom_score_;
};

}  // namespace rtrain::machine
