// host/train/watch/worker_death.h: why a worker's end is a failure, in words.
#pragma once

#include <string>

#include "host/base/error.h"
#include "host/decide/group_state.h"
#include "host/node/workers/worker_group.h"

namespace rtrain {

// The error of a worker that ended before its train function returned. `last_words`: its last line
// on stderr, where libraries say why they give up.
Error worker_death(int rank, const WorkerEnd& end, const std::string& last_words);

struct Death {
  int rank = 0;
  int pid = 0;
  int num_workers = 1;
  DeathEffect effect = DeathEffect::kEnds;
  std::string because = {};  // of the effect, or empty
};

// The message to the user at once, while how it ended is not known yet.
std::string death_notice(const Death& death);

}  // namespace rtrain
