// host/train/watch/worker_death.h: why a worker's end is a failure, in words.
#pragma once

#include <string>

#include "host/base/error.h"
#include "host/node/worker_group.h"

namespace rtrain {

// The error of a worker that ended before its train function returned. `last_words`: its last line
// on stderr, where libraries say why they give up.
Error worker_death(int rank, const WorkerEnd& end, const std::string& last_words);

// What the user sees at once, while how it ended is not known yet. `heals`: the others live on.
std::string death_notice(int rank, int pid, int num_workers, bool heals = false);

}  // namespace rtrain
