// host/store/checkpoints/manifest.h: `.rtrain-checkpoint.json`, the record inside a checkpoint of
// what it is and what it holds.
//
// {"format": 1, "checkpoint": {run, run_id, attempt, owner_epoch, index, name, created_at, metrics,
// files, folders, validation (where one was asked for)},
//  "xxh3": hash of the text of "checkpoint", "metadata": {…}}. The metadata is the user's and not
//  covered by the hash.
// Errors: kCheckpoint, naming the file and what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

inline constexpr const char* kManifestName = ".rtrain-checkpoint.json";

// What names a file or folder of a checkpoint, which is made, opened and removed under that name:
// throws kCheckpoint for a path that is not below it.
std::string inner_path(const Value& value);

struct CheckpointFile {
  std::string path;  // relative to the checkpoint, "/" between folders
  int64_t size_bytes = 0;
  std::string xxh3;  // 16 hexadecimal digits; empty for a symlink
  std::string link;  // the symlink's target; empty for a regular file

  Value to_value() const;
  static CheckpointFile from_value(const Value& value);
  bool operator==(const CheckpointFile&) const = default;
};

struct Manifest {
  std::string run;
  std::string run_id;
  int64_t attempt = 0;
  int64_t owner_epoch = 0;
  int64_t index = 0;
  std::string name;
  int64_t created_at_ms = 0;
  Value metrics = Map{};
  std::vector<CheckpointFile> files;
  std::vector<std::string> folders;  // those below the checkpoint, parents first
  Value validation;                  // what its validation is called with; nil: none was asked for
  Value metadata = Map{};

  int64_t size_bytes() const;
  std::string to_text() const;
  // `path` is for messages.
  static Manifest parse(std::string_view text, const std::string& path);
  // Reads the manifest of the checkpoint directory.
  static Manifest read(const std::string& directory);
  // Nothing when there is none that can be read: `problem` then says why.
  static std::optional<Manifest> try_read(const std::string& directory, std::string& problem);
};

// Before a checkpoint is made by its manifest: throws kCheckpoint unless all of it stays in its
// folder, since its names lead through folders alone, and its links to places within. `path` is for
// messages.
void check_layout(const Manifest& manifest, const std::string& path);

// Whether the directory has a manifest of a committed checkpoint. Throws when that is damaged.
bool is_committed_checkpoint(const std::string& directory);

// The user's metadata of a checkpoint directory: also of one that is not committed yet (a folder
// handed to Checkpoint.from_directory), which then has a manifest of metadata alone. Setting throws
// kArgument for another value than a map, and for more than 512 KiB.
Value get_checkpoint_metadata(const std::string& directory);
void set_checkpoint_metadata(const std::string& directory, const Value& metadata);

}  // namespace rtrain
