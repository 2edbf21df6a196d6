// host/store/upkeep/repair.h: rebuilds a damaged store, and adds rows for checkpoints that it
// lacks.
//
// The readable rows of a damaged file are copied to a new file; the old one is kept next to it. A
// sound file stays in place. Then every checkpoint directory whose files verify and that the store
// does not know is entered from its manifest, with its run, its attempt and its report's metrics,
// so that the run can be resumed. Rows that belong to no run are deleted. Only while no run is
// live.
#pragma once

#include <string>
#include <vector>

namespace rtrain::store {

// Returns one line for each change, or one that nothing had to be done. Throws kEnvironment if a
// run of the storage is live, the folder cannot be written, or the file belongs to another program
// or a newer version.
std::vector<std::string> repair_store(const std::string& storage_path);

}  // namespace rtrain::store
