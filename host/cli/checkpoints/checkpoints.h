// host/cli/checkpoints/checkpoints.h: the sub-commands of `rtrain checkpoint`, one file
// each.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/cli/screen/listing.h"

namespace rtrain::cli {

struct CheckpointsOptions : ListingOptions {
  std::string action;  // of `rtrain checkpoints`
  std::string name;    // of a checkpoint, "best" or "latest"; "": the action's default
  bool all = false;
  std::string output;
  bool safetensors = false;
  std::string file;
  std::string part;
  int64_t keep = -1;  // below 0: not given
  bool yes = false;
  bool dry_run = false;
};

// Returns the checkpoint with that name, in the form of checkpoint_rows. Throws
// Error(kUsage) with the existing names if there is no such checkpoint.
Value find_checkpoint(store::OpenRun& run, const std::string& name);

void list_checkpoints(const CheckpointsOptions& options);
// Compares every file with the manifest. Throws Error(kCheckpoint) after the listing if a file
// differs.
void verify_checkpoints(const CheckpointsOptions& options);
// Copies a checkpoint's files, or makes one safetensors file of its tensors.
void export_checkpoint(const CheckpointsOptions& options);
// Removes all checkpoints except the best ones and the latest.
void prune_checkpoints(const CheckpointsOptions& options);

}  // namespace rtrain::cli
