// host/store/checkpoints/object_storage.h: results in an object store: where they lie there, and
// the folder of this machine that stands for it.
//
// storage_path = 's3://bucket/prefix' is the folder $XDG_STATE_HOME/rtrain/s3/bucket/prefix, in
// which the file .object-store names the URI. Everything else is done in that folder, as in any
// other: it has the database, the locks, the logs and copies of the checkpoints. The store has
//   <uri>/.rtrain/<run>/<epoch>-<time>-<nonce>.db    the run's rows as of then: the newest count
//   <uri>/.rtrain/<run>/marker                       for the other hosts of a job
//   <uri>/<run>/checkpoints/…, <uri>/<run>/files/…   host/store/checkpoints/object_checkpoints.h
// A store has no lock: whoever has put the rows with the highest epoch owns the run, of two that
// have begun at once the one with the lower nonce. Others are refused when they look, which they do
// before and after all that they put or remove.
// Any thread. Errors: those of host/api/object_api.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rtrain {

class Database;
class Error;

// A controller of a run.
struct ObjectOwner {
  int64_t epoch = 0;
  std::string nonce;
};

// Removes what is superseded. False where the store does not do so now: it goes another time.
bool try_remove(const std::string& uri);
// What a controller hears that does not own the run any more.
Error lost_owner(const std::string& run, const std::string& rows);

// Whether the run's controller is on a host that does not see this disk.
bool is_far_run(const std::string& run_path);
// It is here from now on.
void set_near_run(const std::string& run_path);

class ObjectStorage {
 public:
  // The folder for the URI, which is made. Throws Error(kConfig) for a URI without a bucket,
  // Error(kEnvironment) where the folder cannot be made.
  static std::string folder_of(const std::string& uri);
  // Nothing for a folder that stands for itself.
  static std::optional<ObjectStorage> of(const std::string& storage_path);

  const std::string& uri() const { return uri_; }

  // Of a job on several hosts: what node 0 puts, so that the others can show that they reach the
  // store.
  void put_marker(const std::string& run, const std::string& text) const;
  // What keeps this host, whose disk node 0 does not see, from having ranks of that run, as of now;
  // empty where nothing does. Marks the run's folder, so that the ranks here do without node 0's
  // (is_far_run).
  static std::string join(const std::string& run_path, const std::string& uri,
                          const std::string& text);

  // Enters the run, where the store has it newer than this folder, into its database, and removes
  // copies of checkpoints that are not what the store has now. A run whose controller lives here is
  // left alone. Throws Error(kEnvironment) for rows that cannot be read.
  void refresh(const std::string& run) const;
  // The same for all runs. The answer has those whose rows cannot be read, with the reason: they
  // stay as they were. Throws where the store does not answer.
  std::map<std::string, std::string> refresh_all() const;
  // The rows of another controller that owns the run; nothing when this one does.
  std::optional<std::string> later_owner(const std::string& run, const ObjectOwner& owner) const;
  // Who put the run's newest rows; nothing when it has none there.
  std::optional<ObjectOwner> owner_of(const std::string& run) const;
  // Throws Error(kEnvironment) when another controller owns the run.
  void check_owner(const std::string& run, const ObjectOwner& owner) const;
  // Puts the run's rows into the store, and removes those of earlier owners.
  void put_rows(Database& database, const std::string& run, const ObjectOwner& owner) const;
  // The same for a run that has ended and whose rows were changed here, in its last owner's name.
  void put_changed_rows(Database& database, const std::string& run) const;
  // Removes all that the store has of a run: its files, then its rows.
  void remove_run(const std::string& run) const;

 private:
  ObjectStorage(std::string folder, std::string uri)
      : folder_(std::move(folder)), uri_(std::move(uri)) {}

  std::string folder_;
  std::string uri_;
};

}  // namespace rtrain
