// host/node/health/folder_check.h: whether ranks of this host can have the run's folder.
//
// May take long, or never return: see host/node/health/timed_check.h.
#pragma once

#include <string>

#include "host/node/workers/messages.h"

namespace rtrain {

// What keeps them from it, or "". Where the storage is an object store, a host that does not see
// node 0's disk gets a folder of its own for the run (ObjectStorage::join).
std::string folder_problem(const message::CheckFolder& check);

}  // namespace rtrain
