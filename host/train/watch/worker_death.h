// host/train/watch/worker_death.h: why a worker's end is a failure, in words.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/error.h"
#include "host/base/progress_page.h"
#include "host/train/group/worker_group.h"

namespace rtrain {

// What is known of a worker's last moments.
struct LastMoments {
  const Crash& crash;      // what its page holds; signal 0: nothing
  int64_t oom_kills = 0;   // processes that the kernel has killed for want of memory in this cgroup
                           // since the attempt began
  std::string last_words;  // its last line on stderr, where libraries say why they give up
};

// The error of a worker that ended before its train function returned.
Error worker_death(int rank, const WorkerEnd& end, const LastMoments& last);

// What the user sees at once, while how it ended is not known yet.
std::string death_notice(int rank, int pid, int num_workers);

}  // namespace rtrain
