// host/store/repair.h: a store that cannot be read any more, made anew.
//
// What can still be read of the damaged file is copied row by row. Then every checkpoint directory
// whose files verify is entered again from its manifest, with its run, its attempt and the metrics
// of its report, so that the run can be gone on with. The old file stays beside the new one. Only
// while no run is live.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

// Returns one line for each thing done. Throws kEnvironment when a run of the storage is live or
// its folder cannot be written.
std::vector<std::string> repair_store(const std::string& storage_path);

}  // namespace rtrain
