// host/store/checkpoints/checkpoint_files.h: the checkpoints of one run on disk: staging, commit,
// drop, verify.
//
//   <run>/staging/<attempt>-<nonce>-<index>/rank-R/   what rank R copied for report <index>
//   <run>/staging/<attempt>-<nonce>-tmp/…             temporary folders of that attempt
//   <run>/staging/trash-<nonce>/                      on the way out
//   <run>/staging/drop-<name>                         checkpoints/<name> goes with its last reader
//   <run>/checkpoints/<name>/                         committed
//   <run>/damaged/<name>/                             had the name, without a manifest that holds
// Invariants: 1 a directory appears under checkpoints/ by one rename of a complete, synced tree, so
// it is complete by construction. 2 It leaves by one rename into staging/, and is deleted there. 3
// A row of the database is written after 1 and marked dropped before 2. stage() and make_tempdir()
// run in workers; the rest on the controller's io thread, under the run's lock.
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

namespace rtrain {

// One report of one attempt.
struct StageKey {
  int64_t attempt = 0;
  std::string nonce;
  int64_t index = 0;
};

struct CommittedCheckpoint {
  Manifest manifest;
  std::string path;  // absolute
  // Same-named files that differ between ranks, a directory that was set aside.
  std::vector<std::string> warnings;
  bool replaced = false;  // an older attempt's checkpoint of that name was replaced
};

// A directory held open against retention, with a shared lock, for as long as the object lives.
// Deletes it at the end where that is left to readers (CheckpointFiles::leave_drops_to_readers).
class DirectoryLease {
 public:
  // Brings the directory here where it is only in an object store. Throws kCheckpoint when it is
  // gone.
  explicit DirectoryLease(const std::string& directory);
  DirectoryLease(DirectoryLease&& other) noexcept = default;
  ~DirectoryLease();

 private:
  OpenFile folder_;
};

class CheckpointFiles {
 public:
  // `patience`: with a disk that is full. The run's folder is there; it is never made here, so that
  // one that was moved does not come back empty.
  explicit CheckpointFiles(std::string run_path, Patience patience = {});

  // Copies the rank's folder into its staging folder of this report; see stage_folder.
  StagedRank stage(
      const StageKey& key, int64_t rank, const std::string& source, bool temporary,
      const BytesMoved& moved = [](uint64_t) {}) const;
  // A new empty folder on the run's file system that goes with the attempt.
  std::string make_tempdir(int64_t attempt, const std::string& nonce) const;

  // Merges what the ranks staged (the lowest rank wins a name), writes the manifest, syncs every
  // folder, renames to checkpoints/<manifest.name> and syncs both parents; of a checkpoint whose
  // ranks are on several disks only the object store has all files. Fills the manifest's files,
  // folders and metadata. A name of this same attempt is refused with kCheckpoint; a
  // directory of that name from an older attempt is replaced, one that is not a checkpoint of this
  // run is set aside, with a warning.
  CommittedCheckpoint commit(const StageKey& key, Manifest manifest,
                             std::span<const StagedRank> ranks);

  // Moves a complete folder, fetched from elsewhere, to the name of a checkpoint whose folder was
  // gone. Throws kCheckpoint when something has that name.
  void put_back(const std::string& folder, const std::string& name) const;

  // Moves the directory of that name to damaged/, where nothing but a user touches it, and returns
  // its new path.
  std::string set_aside(const std::string& name) const;

  // Moves the directories out of checkpoints/ and deletes them. One that a reader holds is kept and
  // tried again by the next call, as is what an object store does not remove now; a failed deletion
  // is left to the next start.
  void drop(std::span<const std::string> names);
  // The same for this machine alone, and for the object store alone.
  void drop_copies(std::span<const std::string> names);
  void drop_stored(const std::string& name) const;
  // The last call: what a reader still holds is deleted by the reader that lets go last.
  void leave_drops_to_readers();

  // Of a run in an object store: who puts and removes there; before anything is.
  void set_owner(ObjectOwner owner) {
    if (objects_) objects_->set_owner(std::move(owner));
  }
  // The checkpoints that it has, by name.
  std::map<std::string, ObjectCheckpoints::Entry> stored() const;
  // Removes directories of owners up to that epoch that are not what it has under their names, and
  // sets those of another run aside.
  void forget_copies(const std::string& run_id, int64_t epoch) const;
  // Puts a committed checkpoint there that only this folder has. While no attempt goes on.
  void store(const std::string& name) const;
  // Brings the folder of a committed checkpoint here, if it is only in an object store. On a far
  // host (is_far_run) also one that is another than the one here.
  void fetch(const std::string& name) const;

  // Removes what the attempt left in staging.
  void clear_attempt(int64_t attempt, const std::string& nonce) const;
  // Removes staging with everything in it, and what an object store has without a checkpoint; for
  // the start and the end of a run.
  void clear_staging() const;

  // Checks every size and hash against the manifest, and the manifest against its own hash. Throws
  // kCheckpoint.
  static Manifest verify(const std::string& directory);

  // "checkpoint_000012", the name of a checkpoint that got none.
  static std::string default_name(int64_t index);
  // Throws kArgument for a name that cannot be one folder below checkpoints/.
  static void check_name(const std::string& name);

  const std::string& run_path() const { return run_path_; }
  std::string checkpoint_path(const std::string& name) const;
  // Names of the directories under checkpoints/, sorted.
  std::vector<std::string> committed_names() const;

 private:
  std::string staging_path(const StageKey& key) const;
  std::string make_own_folder(const std::string& name) const;
  std::string gather(const MergedFiles& merged, const std::string& staging) const;
  bool has_staged(const StageKey& key, std::span<const StagedRank> ranks) const;
  void commit_here(const StageKey& key, const MergedFiles& files, Manifest& manifest,
                   CommittedCheckpoint& out);
  bool try_name(const std::string& merged, Manifest& manifest, CommittedCheckpoint& out) const;
  void clear_name(Manifest& manifest, CommittedCheckpoint& out);
  void forget_old_copies() const;
  bool publish(const std::string& merged, const Manifest& manifest,
               std::vector<std::string>& warnings) const;
  bool try_drop_copy(const std::string& name) const;
  void leave_to_readers(const std::string& name) const;

  std::string run_path_;
  Patience patience_;
  std::optional<ObjectCheckpoints> objects_;  // of a run in an object store
  std::vector<std::string> pending_drops_;
  std::vector<std::string> pending_stored_;  // in the object store, which did not answer
};

}  // namespace rtrain
