// host/store/checkpoints/manifest.h: `.rtrain-checkpoint.json`, the manifest inside a
// checkpoint.
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

#include "host/base/codec/record.h"
#include "host/base/codec/staged_rank.h"
#include "host/base/codec/validation_request.h"
#include "host/base/value.h"

namespace rtrain::store {

inline constexpr const char* kManifestName = ".rtrain-checkpoint.json";

// Throws kCheckpoint unless the path of a file or folder leads below the checkpoint's folder.
void check_inner_path(const std::string& path);

// kFields are what its hash covers.
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
  std::vector<std::string> folders;             // below the checkpoint, parents first
  std::optional<ValidationRequest> validation;  // if one was requested
  Value metadata = Map{};

  int64_t size_bytes() const;
  std::string to_text() const;
  // `path` is only used in messages.
  static Manifest parse(std::string_view text, const std::string& path);
  // Reads the manifest of the checkpoint directory.
  static Manifest read(const std::string& directory);
  // Returns nullopt if there is no readable manifest, and sets `problem` to the reason.
  static std::optional<Manifest> try_read(const std::string& directory, std::string& problem);

  static constexpr RecordFields kFields{required("run", &Manifest::run),
                                        required("run_id", &Manifest::run_id),
                                        required("attempt", &Manifest::attempt),
                                        required("owner_epoch", &Manifest::owner_epoch),
                                        required("index", &Manifest::index),
                                        required("name", &Manifest::name),
                                        required("created_at", &Manifest::created_at_ms),
                                        required("metrics", &Manifest::metrics),
                                        required("files", &Manifest::files),
                                        required("folders", &Manifest::folders),
                                        optional("validation", &Manifest::validation)};
};

// Call it before a checkpoint is created from its manifest. Throws kCheckpoint unless all names
// lead through folders of the checkpoint and all links point inside of it. `path` is only used in
// messages.
void check_layout(const Manifest& manifest, const std::string& path);

// Whether the directory has the manifest of a committed checkpoint. Throws if that is damaged.
bool is_committed_checkpoint(const std::string& directory);

// The user's metadata of a checkpoint directory. A directory that is not committed yet (a folder
// passed to Checkpoint.from_directory) has a manifest with only the metadata. The setter throws
// kArgument for a value that is not a map, and above 512 KiB.
Value get_checkpoint_metadata(const std::string& directory);
void set_checkpoint_metadata(const std::string& directory, const Value& metadata);

}  // namespace rtrain::store
