// host/store/upkeep/garbage.h: files of a store that no row refers to: left by killed processes,
// and folders of removed runs.
//
// Files that someone else may have made, and files of live runs, are left alone. A folder without a
// row is only removed if a controller has left its lock in it and it has no checkpoint, because its
// rows may be in a copy of the store. A checkpoint is only removed if its name and run match its
// manifest, and not while the next start of a lost run may adopt it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/store/db/database.h"

namespace rtrain::store {

struct Garbage {
  enum class Kind {
    kRemoved,     // files of a removed run
    kLink,        // link of an interrupted rename
    kFolder,      // folder of a run without a row
    kStaged,      // files of a report that became no checkpoint
    kCheckpoint,  // without a row, of a run that has ended
  };
  Kind kind = Kind::kFolder;
  std::string path;      // absolute
  std::string run_path;  // its lock is held during removal; empty: none
  int64_t size_bytes = 0;
};

// Finds garbage of the store in that folder, sorted by path. Changes nothing.
std::vector<Garbage> find_garbage(Database& database, const std::string& storage_path);

// Returns false if it was left alone, because a run has begun to use it, or could not be removed.
bool remove_garbage(Database& database, const Garbage& garbage);

}  // namespace rtrain::store
