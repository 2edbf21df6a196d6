// host/base/codec/staged_rank.h: the files of a checkpoint: each one, and those that one rank has
// staged.
//
// The worker sends the list of files in parts, and the rest behind it (message::Files, Uploaded).
// The controller writes the files into the manifest. Paths are not checked when a record is read:
// MergedFiles and Manifest::parse do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/value.h"

namespace rtrain {

// A regular file has a size and a hash, a symlink has a target.
struct CheckpointFile {
  std::string path;  // relative to the checkpoint, "/" between folders
  std::optional<int64_t> size_bytes = {};
  std::optional<std::string> xxh3 = {};  // 16 hexadecimal digits
  std::optional<std::string> link = {};

  bool operator==(const CheckpointFile&) const = default;

  static constexpr RecordFields kFields{
      required("path", &CheckpointFile::path), optional("size_bytes", &CheckpointFile::size_bytes),
      optional("xxh3", &CheckpointFile::xxh3), optional("link", &CheckpointFile::link)};
};

struct StagedRank {
  int64_t rank = 0;
  std::vector<CheckpointFile> files = {};
  std::vector<std::string> folders = {};  // parents first
  Value metadata = {};                    // nil if none was set

  static constexpr RecordFields kFields{
      required("rank", &StagedRank::rank), required("files", &StagedRank::files),
      required("folders", &StagedRank::folders), required("metadata", &StagedRank::metadata)};
};

}  // namespace rtrain
