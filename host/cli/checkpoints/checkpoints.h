// host/cli/checkpoints/checkpoints.h: what `rtrain checkpoint` does with a run's checkpoints, one
// file per sub-command.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/cli/screen/listing.h"

namespace rtrain {

struct CheckpointsOptions : ListingOptions {
  std::string action;  // of `rtrain checkpoints`
  std::string name;    // of one checkpoint, "best" or "latest"; "": what the action takes
  bool all = false;
  std::string output;
  bool safetensors = false;
  std::string file;
  std::string part;
  int64_t keep = -1;  // < 0: not said
  bool yes = false;
  bool dry_run = false;
};

// The checkpoint that is meant, as RunReader::checkpoints has it. Error(kUsage) with the names
// there are.
Value find_checkpoint(OpenRun& run, const std::string& name);

void list_checkpoints(const CheckpointsOptions& options);
// Compares every file with the manifest: Error(kCheckpoint) after the listing when one differs.
void verify_checkpoints(const CheckpointsOptions& options);
// Copies a checkpoint's files, or makes one safetensors file of its tensors.
void export_checkpoint(const CheckpointsOptions& options);
// Removes all but the best ones and the latest.
void prune_checkpoints(const CheckpointsOptions& options);

}  // namespace rtrain
