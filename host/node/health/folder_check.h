// host/node/health/folder_check.h: checks whether ranks of this node can use the run's folder.
//
// May block for long or forever: see host/node/health/timed_check.h.
#pragma once

#include <string>

#include "host/node/workers/messages.h"

namespace rtrain::node {

// Returns the problem, or "". If the storage is an object store, or the check says `may_be_far`, a
// node that cannot access node 0's disk gets its own folder for the run (ObjectStorage::join,
// join_far_run).
std::string folder_problem(const message::CheckFolder& check);
// That folder, after a check with `may_be_far` that has succeeded; "" if this node sees node 0's.
std::string far_path(const message::CheckFolder& check);

}  // namespace rtrain::node
