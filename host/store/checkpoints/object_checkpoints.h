// host/store/checkpoints/object_checkpoints.h: the checkpoints of one run in an object store.
//
//   <uri>/<run>/files/<attempt>-<nonce>-<index>/rank-R/…     what rank R put for report <index>
//   <uri>/<run>/checkpoints/<name>/<epoch>-<attempt>.json    makes the checkpoint exist
// A store has no rename: ranks put their files before the checkpoint has its name, and the second
// kind of object, its manifest, says where they are. Invariants: 1 a manifest is put last and
// removed first, so every file that it names is there, whole. 2 Of several under one name the one
// with the highest epoch, then attempt, counts. put() runs in workers, on the upload thread; get()
// anywhere; the rest on the controller's io thread, under the run's lock.
// Errors: those of host/api/object_api.h, and kCheckpoint for a manifest that cannot be read.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoints/merged_files.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/checkpoints/staged_copy.h"

namespace rtrain {

class ObjectCheckpoints {
 public:
  // Nothing where the run's folder stands for itself.
  static std::optional<ObjectCheckpoints> of(const std::string& run_path);

  // The files that the rank has staged in `folder`, several at a time. `stage` names the report:
  // "<attempt>-<nonce>-<index>".
  void put(const std::string& stage, const StagedRank& staged, const std::string& folder,
           const BytesMoved& moved) const;
  // The rest puts and removes for this controller, and throws Error(kEnvironment) once another one
  // owns the run.
  void set_owner(ObjectOwner owner) { owner_ = std::move(owner); }
  // All ranks have put theirs: the checkpoint exists when this returns.
  void commit(const std::string& stage, const Manifest& manifest, const MergedFiles& merged) const;
  // Nothing happens for a name that is not there, and to what a later owner has under it.
  void drop(const std::string& name) const;

  struct Entry {
    std::string uri;  // of the manifest
    int64_t epoch = 0;
    int64_t attempt = 0;

    // Whether the folder with that manifest is a copy of this one.
    bool is_of(const Manifest& manifest) const {
      return epoch == manifest.owner_epoch && attempt == manifest.attempt;
    }
    bool is_before(const Entry& other) const {
      return epoch != other.epoch ? epoch < other.epoch : attempt < other.attempt;
    }
  };
  // By name.
  std::map<std::string, Entry> list() const;
  // Brings the checkpoint of that name into `folder`, which is made, its files as they were
  // committed. Throws kNotFound when the store has none, kCheckpoint when files differ.
  void get(const std::string& name, const std::string& folder) const;
  // Removes files that belong to no checkpoint. While nobody puts any.
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

}  // namespace rtrain
