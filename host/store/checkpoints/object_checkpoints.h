// host/store/checkpoints/object_checkpoints.h: the checkpoints of one run in an object store.
//
//   <uri>/<run>/files/<attempt>-<nonce>-<index>/rank-R/…     files that rank R put for report
//   <index>
//   <uri>/<run>/checkpoints/<name>/<epoch>-<attempt>.json    manifest: makes the checkpoint exist
// An object store has no rename. So ranks put their files before the checkpoint has its name, and
// its manifest says where they are. Invariants: 1 a manifest is put last and removed first, so
// every file that it names exists and is complete. 2 Of several manifests under one name the one
// with the highest epoch, then attempt, is valid. put() runs in workers, on the upload thread;
// get() anywhere; the rest on the controller's io thread, under the run's lock. Errors: those of
// host/api/object_api.h, and kCheckpoint for a manifest that cannot be read.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoints/merged_files.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/checkpoints/staged_copy.h"

namespace rtrain::store {

class ObjectCheckpoints {
 public:
  // Returns nullopt if the run is not in an object store.
  static std::optional<ObjectCheckpoints> of(const std::string& run_path);

  // Puts the files that the rank has staged in `folder`, several at a time. `stage` identifies the
  // report: "<attempt>-<nonce>-<index>".
  void put(const std::string& stage, const StagedRank& staged, const std::string& folder,
           const BytesMoved& moved) const;
  // The functions below act for this controller, and throw Error(kEnvironment) once another one
  // owns the run.
  void set_owner(ObjectOwner owner) { owner_ = std::move(owner); }
  // Call it once all ranks have put their files. The checkpoint exists when this returns.
  void commit(const std::string& stage, const Manifest& manifest, const MergedFiles& merged) const;
  // Does nothing if the name does not exist. Keeps a later owner's checkpoint of that name.
  void drop(const std::string& name) const;

  struct Entry {
    std::string uri;  // of the manifest
    int64_t epoch = 0;
    int64_t attempt = 0;

    // Whether a folder with that manifest is a copy of this checkpoint.
    bool is_of(const Manifest& manifest) const {
      return epoch == manifest.owner_epoch && attempt == manifest.attempt;
    }
    bool is_before(const Entry& other) const {
      return epoch != other.epoch ? epoch < other.epoch : attempt < other.attempt;
    }
  };
  // By name.
  std::map<std::string, Entry> list() const;
  // Downloads the checkpoint into `folder`, which it creates, and verifies its files. Throws
  // kNotFound if the store has no such checkpoint, kCheckpoint if files differ.
  void get(const std::string& name, const std::string& folder) const;
  // Removes files that belong to no checkpoint. Not while a rank puts files.
  void sweep() const;

 private:
  ObjectCheckpoints(ObjectStorage storage, std::string run)
      : storage_(std::move(storage)), run_(std::move(run)), uri_(storage_.uri() + "/" + run_) {}

  std::vector<Entry> entries(const std::string& name) const;
  void check_owner() const { storage_.check_owner(run_, owner_); }

  ObjectStorage storage_;
  std::string run_;
  std::string uri_;  // of the run
  ObjectOwner owner_;
};

}  // namespace rtrain::store
