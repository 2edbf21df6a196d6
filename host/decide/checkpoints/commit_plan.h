// host/decide/checkpoints/commit_plan.h: the order in which a checkpoint comes to the disk, and
// what is done with a name that is taken. Pure.
//
// A crash between two steps leaves the old state or the new one, even where the disk loses or
// reorders what was not synced: the folder is on the disk with all that is in it before it has its
// name, the name is there before the row says so, and nothing is deleted before that. What is
// between is found at the next start: sweep_verdict.h.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::decide {

enum class CommitStep {
  kMerge,          // the ranks' staged files, synced each, go into one folder
  kWriteManifest,  // into that folder, and syncs the file
  kSyncTree,       // every folder of it
  kRename,         // to its name: it is a checkpoint from now on
  kSyncParents,    // the folder with its name, and the one that it came from
  kClearStaging,   // with an older checkpoint that it has replaced
  kWriteRow,       // its row, and those that retention drops, in one durable transaction
  kAnswer,         // report() returns on the ranks
  kDrop,           // the folders of dropped rows go
};

// What follows that step; nothing behind the last one. `is_named`: of kRename, the folder has the
// name; else the manifest is written again with another name.
std::optional<CommitStep> next_step(CommitStep done, bool is_named = true);

// What has the name that a checkpoint is to get.
struct NamedFolder {
  bool has_manifest = false;  // of a checkpoint of this run
  int64_t attempt = 0;        // of that one
  bool is_held = false;       // by a reader
};

enum class NameChoice {
  kRename,    // the name is free
  kRefuse,    // this attempt has used it
  kOther,     // the checkpoint gets another name
  kSetAside,  // what is there goes to damaged/, and the name is free
  kExchange,  // with the checkpoint of an older attempt
};
NameChoice choose_name(const std::optional<NamedFolder>& there, int64_t attempt);

}  // namespace rtrain::decide
