// host/store/checkpoints/staged_copy.h: one rank's files, copied into its own staging folder,
// hashed and on the disk.
//
// Runs in the worker. Nobody else writes into the folder; ranks that share one tear each other's
// files. What is hashed and synced is the copy, through the descriptor that wrote it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/store/checkpoints/manifest.h"

namespace rtrain {

// What one rank brought; travels to the controller as a Value.
struct StagedRank {
  int64_t rank = 0;
  std::vector<CheckpointFile> files = {};
  std::vector<std::string> folders = {};  // parents first
  Value metadata = {};                    // nil when none was set

  Value to_value() const;
  static StagedRank from_value(const Value& value);
};

// Copies the folder `source` to `target`, which must not exist: reflink, else copy_file_range, else
// read and write; a temporary source on the same file system is renamed instead. A symlink stays
// one and leads to the same place of the copy; one that leads out of the folder, to a file, becomes
// a copy of that. FIFOs, sockets, devices, links to anything else outside and names that are not
// UTF-8 are Error(kCheckpoint). Disk full and the like: kEnvironment. On failure the target is
// removed. `moved` is notified of bytes that were copied, hashed or written to the disk, a few MiB
// at a time.
using BytesMoved = std::function<void(uint64_t bytes)>;
StagedRank stage_folder(
    const std::string& source, const std::string& target, bool temporary,
    const BytesMoved& moved = [](uint64_t) {});

// How the file of a checkpoint differs from what its manifest says of it: it is missing, has
// another size or (full) another hash. "" when it does not. Throws kEnvironment when it cannot be
// read.
std::string file_damage(const std::string& directory, const CheckpointFile& expected, bool full);

// Throws kCheckpoint naming the first file of the manifest that is missing, has another size or
// (full) another hash.
void verify_files(const std::string& directory, const Manifest& manifest, bool full);

}  // namespace rtrain
