// host/store/upkeep/repair.h: a damaged store is written again, and what the checkpoints say is
// entered.
//
// What can still be read of a damaged file is copied row by row to a new one; the old one stays
// next to it. A sound file stays in its place. Then every checkpoint directory whose files verify
// and that the store does not know is entered from its manifest, with its run, its attempt and the
// metrics of its report, so that the run can be gone on with; rows that belong to no run go. Only
// while no run is live.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

// Returns one line for each thing done, or one that nothing was to be done. Throws kEnvironment
// when a run of the storage is live, its folder cannot be written, or the file is another program's
// or a newer version's.
std::vector<std::string> repair_store(const std::string& storage_path);

}  // namespace rtrain
