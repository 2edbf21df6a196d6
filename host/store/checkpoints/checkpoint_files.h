// host/store/checkpoints/checkpoint_files.h: the checkpoints of one run on disk: staging, commit,
// drop, verify.
//
//   <run>/staging/<attempt>-<nonce>-<index>/rank-R/   files that rank R copied for report <index>
//   <run>/staging/<attempt>-<nonce>-tmp/…             temporary folders of that attempt
//   <run>/staging/trash-<nonce>/                      being deleted
//   <run>/staging/drop-<name>                         the last reader deletes checkpoints/<name>
//   <run>/checkpoints/<name>/                         committed
//   <run>/damaged/<name>/                             had the name, but no valid manifest
// Invariants: 1 a directory appears under checkpoints/ by one rename of a complete, synced tree, so
// it is always complete. 2 It leaves by one rename into staging/ and is deleted there. 3 Its
// database row is written after 1 and marked dropped before 2. stage() and make_tempdir() run in
// workers; the rest runs on the controller's io thread, under the run's lock.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoints/merged_files.h"
#include "host/store/checkpoints/object_checkpoints.h"
#include "host/store/checkpoints/staged_copy.h"
#include "host/store/files/file.h"
#include "host/store/files/patience.h"

namespace rtrain::store {

// Identifies one report of one attempt.
struct StageKey {
  int64_t attempt = 0;
  std::string nonce;
  int64_t index = 0;
};

// The folder of a committed checkpoint. Throws kCheckpoint for what is not the name of one.
std::string checkpoint_path(const std::string& run_path, const std::string& name);

struct CommittedCheckpoint {
  Manifest manifest;
  std::string path;  // absolute
  // Files of the same name that differ between ranks; a directory that was set aside.
  std::vector<std::string> warnings;
  bool replaced = false;  // an older attempt's checkpoint of that name was replaced
};

// Holds a directory open with a shared lock, which protects it from retention. The destructor
// deletes it if that was left to readers (CheckpointFiles::leave_drops_to_readers).
class DirectoryLease {
 public:
  // Fetches the directory if only the object store has it. Throws kCheckpoint if it does not exist
  // any more.
  explicit DirectoryLease(const std::string& directory);
  DirectoryLease(DirectoryLease&& other) noexcept = default;
  ~DirectoryLease();

 private:
  OpenFile folder_;
};

// One method for each step in the life of a checkpoint's files: the invariants above hold over
// all of them.
class CheckpointFiles {
 public:
  // `patience`: how long to wait while the disk is full. The run's folder must exist: it is never
  // created here, so that a run that was moved does not come back empty.
  explicit CheckpointFiles(std::string run_path, Patience patience = {});

  // Copies the rank's folder into its staging folder of this report; see stage_folder.
  StagedRank stage(
      const StageKey& key, int64_t rank, const std::string& source, bool temporary,
      const BytesMoved& moved = [](uint64_t) {}) const;
  // The folder of that report, below which each rank has its own.
  std::string staging_path(const StageKey& key) const;
  // Creates it, on node 0, for the files of a far rank.
  std::string make_staging(const StageKey& key) const;
  // Creates an empty folder on the run's file system. It is removed with the attempt.
  std::string make_tempdir(int64_t attempt, const std::string& nonce) const;

  // Merges the files that the ranks staged (for equal names the lowest rank's), writes the
  // manifest, syncs every folder, renames to checkpoints/<manifest.name> and syncs both parents. If
  // the ranks are on several disks, only the object store gets all files. Fills the manifest's
  // files, folders and metadata. Throws kCheckpoint if this attempt has used the name before.
  // Replaces a directory of that name from an older attempt; sets one aside, with a warning, that
  // is not a checkpoint of this run.
  CommittedCheckpoint commit(const StageKey& key, Manifest manifest,
                             std::span<const StagedRank> ranks);

  // Moves a complete folder, fetched from elsewhere, to the name of a checkpoint whose folder was
  // missing. Throws kCheckpoint if the name exists.
  void put_back(const std::string& folder, const std::string& name) const;

  // Moves the directory of that name to damaged/, where rtrain does not touch it again, and returns
  // its new path.
  std::string set_aside(const std::string& name) const;

  // Moves the directories out of checkpoints/ and deletes them. One that a reader holds is tried
  // again by the next call, as is one that the object store does not remove now. If deletion fails,
  // the next start of the run repeats it.
  void drop(std::span<const std::string> names);
  // The same only on this machine, and only in the object store.
  void drop_copies(std::span<const std::string> names);
  void drop_stored(const std::string& name) const;
  // Call it last: a directory that is still held is deleted by its last reader.
  void leave_drops_to_readers();

  // For a run in an object store: sets the owner whose rights are checked. Call it before anything
  // is put or removed there.
  void set_owner(ObjectOwner owner) {
    if (objects_) objects_->set_owner(std::move(owner));
  }
  // The checkpoints in the object store, by name.
  std::map<std::string, ObjectCheckpoints::Entry> stored() const;
  // Removes directories of owners up to `epoch` that differ from the object store's checkpoint of
  // that name. Sets those of another run aside.
  void forget_copies(const std::string& run_id, int64_t epoch) const;
  // Puts a committed checkpoint that only this disk has into the object store. Not while an attempt
  // runs.
  void store(const std::string& name) const;
  // Fetches the folder of a committed checkpoint if only the object store has it, or from node 0 on
  // a far node (is_far_run), where it also replaces a folder that differs from theirs.
  void fetch(const std::string& name) const;

  // Removes the attempt's entries in staging.
  void clear_attempt(int64_t attempt, const std::string& nonce) const;
  // Removes staging, and files in the object store that belong to no checkpoint; for the start and
  // the end of a run.
  void clear_staging() const;

  // Checks every size and hash against the manifest, and the manifest against its own hash. Throws
  // kCheckpoint.
  static Manifest verify(const std::string& directory);

  // "checkpoint_000012": the name of a checkpoint that the user did not name.
  static std::string default_name(int64_t index);
  // Throws kArgument for a name that is not a single folder name.
  static void check_name(const std::string& name);

  const std::string& run_path() const { return run_path_; }
  std::string checkpoint_path(const std::string& name) const {
    return store::checkpoint_path(run_path_, name);
  }
  // Names of the directories under checkpoints/, sorted.
  std::vector<std::string> committed_names() const;

 private:
  std::string make_own_folder(const std::string& name) const;
  std::string gather(const MergedFiles& merged, const std::string& staging) const;
  bool has_staged(const StageKey& key, std::span<const StagedRank> ranks) const;
  void commit_here(const StageKey& key, const MergedFiles& files, Manifest& manifest,
                   CommittedCheckpoint& out);
  bool try_name(const std::string& merged, Manifest& manifest, CommittedCheckpoint& out) const;
  void clear_name(Manifest& manifest, CommittedCheckpoint& out);
  void forget_old_copies() const;
  void forget_old_copy(const std::string& name) const;
  bool publish(const std::string& merged, const Manifest& manifest,
               std::vector<std::string>& warnings) const;
  bool try_drop_copy(const std::string& name) const;
  void leave_to_readers(const std::string& name) const;

  std::string run_path_;
  Patience patience_;
  std::optional<ObjectCheckpoints> objects_;  // for a run in an object store
  std::vector<std::string> pending_drops_;
  std::vector<std::string> pending_stored_;  // in the object store, which did not answer
};

}  // namespace rtrain::store
