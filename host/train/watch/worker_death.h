// host/train/watch/worker_death.h: the error for a worker that ended too early.
#pragma once

#include <string>

#include "host/base/error.h"
#include "host/decide/group_state.h"
#include "host/node/workers/worker_group.h"

namespace rtrain::train {

// The error for a worker that ended before its train function returned. `last_words`: its last line
// on stderr, where libraries print why they abort.
Error worker_death(int rank, const node::WorkerEnd& end, const std::string& last_words);

struct Death {
  int rank = 0;
  int pid = 0;
  int num_workers = 1;
  decide::DeathEffect effect = decide::DeathEffect::kEnds;
  std::string because = {};  // reason why this is an effect, or empty
};

// The immediate message to the user, while it is not known yet how the worker ended.
std::string death_notice(const Death& death);

}  // namespace rtrain::train
