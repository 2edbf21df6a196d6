// host/decide/checkpoints/commit_plan.h: the order of the steps that write a checkpoint to the
// disk, and what happens when its name is in use. Pure.
//
// A crash between two steps leaves the old state or the new one, even where the disk loses or
// reorders writes that were not synced: a folder is synced with all its files before it gets its
// name, it has its name before its row is written, and nothing is deleted before that row. At the
// next start the controller decides about folders that a crash has left: sweep_verdict.h.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::decide {

enum class CommitStep {
  kMerge,          // moves the ranks' staged files, which are synced, into one folder
  kWriteManifest,  // writes the manifest into this folder, and syncs it
  kSyncTree,       // syncs every folder in it
  kRename,         // gives the folder its name: it is a checkpoint from now on
  kSyncParents,    // syncs the folder that it is in now, and the one that it was in
  kClearStaging,   // deletes the staging folder, and a checkpoint that was replaced
  kWriteRow,       // writes its row and drops rows for retention, in one synced transaction
  kAnswer,         // report() returns on the ranks
  kDrop,           // deletes the folders of dropped rows
};

// The step after `done`; nullopt after the last one. `is_named`: after kRename, whether the folder
// has the name. If not, the manifest is written again, with another name.
std::optional<CommitStep> next_step(CommitStep done, bool is_named = true);

// The folder that already has the name of a new checkpoint.
struct NamedFolder {
  bool has_manifest = false;  // it is a checkpoint of this run
  int64_t attempt = 0;        // of this checkpoint
  bool is_held = false;       // a reader uses it
};

enum class NameChoice {
  kRename,    // the name is free
  kRefuse,    // this attempt or a newer one has used the name: an error
  kOther,     // the new checkpoint gets another name
  kSetAside,  // the folder is moved to damaged/, then the name is free
  kExchange,  // it changes places with the checkpoint of an older attempt
};
NameChoice choose_name(const std::optional<NamedFolder>& there, int64_t attempt);

}  // namespace rtrain::decide
