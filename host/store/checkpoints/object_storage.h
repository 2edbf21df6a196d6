// host/store/checkpoints/object_storage.h: results in an object store: their layout there, and the
// local folder that mirrors them.
//
// storage_path = 's3://bucket/prefix' uses the folder $XDG_STATE_HOME/rtrain/s3/bucket/prefix, in
// which the file .object-store has the URI. Everything else works in that folder as in any other:
// it has the database, the locks, the logs and copies of the checkpoints. The store has
//   <uri>/.rtrain/<run>/<epoch>-<time>-<nonce>.db    a version of the run's rows; the newest is
//   valid
//   <uri>/.rtrain/<run>/marker                       for the other nodes of a job
//   <uri>/<run>/checkpoints/…, <uri>/<run>/files/…   host/store/checkpoints/object_checkpoints.h
// An object store has no locks. The controller whose rows have the highest epoch owns the run; if
// two started at once, the one with the lower nonce. A controller checks this before and after
// everything that it puts or removes, and stops if another one owns the run. Any thread. Errors:
// those of host/api/object_api.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "host/base/error.h"

namespace rtrain::store {

class Database;

// Identifies a controller of a run.
struct ObjectOwner {
  int64_t epoch = 0;
  std::string nonce;
};

// Removes an outdated object. Returns false if the store does not do so now; a later call tries
// again.
bool try_remove(const std::string& uri);
// The error for a controller that does not own the run any more.
Error lost_owner(const std::string& run, const std::string& rows);

// Whether the run's controller is on a node that cannot access this disk.
bool is_far_run(const std::string& run_path);
// Marks the run as such, or as one whose controller is on this node.
void set_far_run(const std::string& run_path);
void set_near_run(const std::string& run_path);

class ObjectStorage {
 public:
  // The local folder for the URI; creates it. Throws Error(kConfig) for a URI without a bucket,
  // Error(kEnvironment) if the folder cannot be created.
  static std::string folder_of(const std::string& uri);
  // Returns nullopt for a folder that does not mirror an object store.
  static std::optional<ObjectStorage> of(const std::string& storage_path);

  const std::string& uri() const { return uri_; }

  // For a job on several nodes: node 0 puts a marker, which the other nodes read to show that they
  // can access the store.
  void put_marker(const std::string& run, const std::string& text) const;
  // Checks whether this node, whose disk node 0 cannot access, may have ranks of the run. Returns
  // the problem, or "". Marks the run's folder, so that the ranks here work without node 0's folder
  // (is_far_run).
  static std::string join(const std::string& run_path, const std::string& uri,
                          const std::string& text);

  // If the store's rows of the run are newer than this folder's, copies them to its database and
  // removes copies of checkpoints that differ from the store's. Skips a run whose controller is
  // alive on this node. Throws Error(kEnvironment) for rows that cannot be read.
  void refresh(const std::string& run) const;
  // The same for all runs. Returns the runs whose rows cannot be read, with the reason; they stay
  // unchanged. Throws if the store does not answer.
  std::map<std::string, std::string> refresh_all() const;
  // The URI of rows of another controller that owns the run; nullopt if `owner` owns it.
  std::optional<std::string> later_owner(const std::string& run, const ObjectOwner& owner) const;
  // The owner that put the run's newest rows; nullopt if the store has none.
  std::optional<ObjectOwner> owner_of(const std::string& run) const;
  // Throws Error(kEnvironment) if another controller owns the run.
  void check_owner(const std::string& run, const ObjectOwner& owner) const;
  // Puts the run's rows into the store and removes those of earlier owners.
  void put_rows(Database& database, const std::string& run, const ObjectOwner& owner) const;
  // The same for a run that has ended and whose rows were edited here, in the name of its last
  // owner.
  void put_changed_rows(Database& database, const std::string& run) const;
  // Removes all objects of a run: first its files, then its rows.
  void remove_run(const std::string& run) const;

 private:
  ObjectStorage(std::string folder, std::string uri)
      : folder_(std::move(folder)), uri_(std::move(uri)) {}

  std::string folder_;
  std::string uri_;
};

}  // namespace rtrain::store
