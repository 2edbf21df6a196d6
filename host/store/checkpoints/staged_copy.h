// host/store/checkpoints/staged_copy.h: copies one rank's files into its own staging folder, hashes
// and syncs them.
//
// Runs in the worker. No other process writes into that folder; ranks that shared one would corrupt
// each other's files. Hash and sync use the copy, through the descriptor that wrote it.
#pragma once

#include <functional>
#include <string>

#include "host/base/codec/staged_rank.h"
#include "host/store/checkpoints/manifest.h"

namespace rtrain::store {

// Copies the folder `source` to `target`, which must not exist: by reflink, else copy_file_range,
// else read and write; a temporary source on the same file system is renamed instead. A symlink
// inside the folder stays one and points to the same place in the copy; a symlink to a file outside
// becomes a copy of that file. FIFOs, sockets, devices, other links to the outside and names that
// are not UTF-8 are Error(kCheckpoint). A full disk and similar errors are kEnvironment. On failure
// the target is removed. `moved` is called with the number of bytes copied, hashed or written to
// the disk, every few MiB.
using BytesMoved = std::function<void(uint64_t bytes)>;
StagedRank stage_folder(
    const std::string& source, const std::string& target, bool temporary,
    const BytesMoved& moved = [](uint64_t) {});

// How a checkpoint's file differs from its manifest: it is missing, or its size or
// (full) its hash differs. "" if it does not differ. Throws kEnvironment if it cannot be
// read.
std::string file_damage(const std::string& directory, const CheckpointFile& expected, bool full);

// Throws kCheckpoint naming the first file of the manifest that is missing or whose size or (full)
// hash differs.
void verify_files(const std::string& directory, const Manifest& manifest, bool full);

}  // namespace rtrain::store
