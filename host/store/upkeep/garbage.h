// host/store/upkeep/garbage.h: files of a store that no row refers to: what was left by processes
// that were killed, and folders of runs that are gone.
//
// All that somebody else may have made is left alone, and so is what a live run owns. A folder that
// no row has goes only where a controller has left its lock in it and it holds no checkpoint: its
// rows may be in a copy of the registry. A checkpoint goes only under the name and the run of its
// manifest, and not while the next start of a lost run may adopt it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/store/db/database.h"

namespace rtrain {

struct Garbage {
  enum class Kind {
    kRemoved,     // the files of a run that was removed
    kLink,        // of a rename that was cut off
    kFolder,      // of a run that no row has
    kStaged,      // files of a report that became no checkpoint
    kCheckpoint,  // of a run that has ended, and no row has it
  };
  Kind kind = Kind::kFolder;
  std::string path;      // absolute
  std::string run_path;  // whose lock is held while it is removed; empty: none
  int64_t size_bytes = 0;
};

// Of the store in that folder, sorted by path. Changes nothing.
std::vector<Garbage> find_garbage(Database& database, const std::string& storage_path);

// False where it was left alone: a run has begun to use it, or it could not be removed.
bool remove_garbage(Database& database, const Garbage& garbage);

}  // namespace rtrain
