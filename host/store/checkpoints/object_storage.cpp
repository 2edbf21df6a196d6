#include "host/store/checkpoints/object_storage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <vector>

#include "host/api/object_api.h"
#include "host/base/error.h"
#include "host/base/object_uri.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/arrow_loader.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/run_copy.h"
#include "host/store/claim/run_lock.h"
#include "host/store/claim/run_name.h"
#include "host/store/db/database.h"
#include "host/store/files/file.h"
#include "host/store/files/state_folder.h"

namespace rtrain::store {
namespace {

constexpr const char* kMark = ".object-store";
constexpr const char* kFarMark = ".far";
constexpr int kRetries = 3;

// One version of a run's rows in the store, as encoded in the object's name.
struct Snapshot {
  std::string uri;
  std::string run;
  int64_t epoch = 0;
  int64_t time_ms = 0;
  std::string nonce = {};

  bool is_after(const Snapshot& other) const {
    return epoch != other.epoch ? epoch > other.epoch : time_ms > other.time_ms;
  }
  bool is_of_later(const ObjectOwner& owner) const {
    return epoch != owner.epoch ? epoch > owner.epoch : nonce < owner.nonce;
  }
};

std::string rows_folder(const std::string& uri) { return uri + "/.rtrain"; }
std::string marker_uri(const std::string& uri, const std::string& run) {
  return cat(rows_folder(uri), "/", run, "/marker");
}

std::optional<Snapshot> snapshot_of(const std::string& uri) {
  const size_t name = uri.rfind('/') + 1;
  const size_t run = uri.rfind('/', name - 2) + 1;
  Snapshot out{.uri = uri, .run = uri.substr(run, name - run - 1)};
  std::array<char, 33> nonce{};
  const int count = std::sscanf(uri.c_str() + name, "%" SCNd64 "-%" SCNd64 "-%32[0-9a-f].db",
                                &out.epoch, &out.time_ms, nonce.data());
  if (count != 3 || !run_name_problem(out.run).empty()) return std::nullopt;
  out.nonce = nonce.data();
  return out;
}

std::vector<Snapshot> list_snapshots(const std::string& folder) {
  std::vector<Snapshot> out;
  for (const std::string& uri : lua::object_api().list(folder)) {
    if (auto found = snapshot_of(uri)) out.push_back(std::move(*found));
  }
  return out;
}

std::map<std::string, Snapshot> newest_of(const std::vector<Snapshot>& all) {
  std::map<std::string, Snapshot> out;
  for (const Snapshot& each : all) {
    const auto [place, is_new] = out.try_emplace(each.run, each);
    if (!is_new && each.is_after(place->second)) place->second = each;
  }
  return out;
}

// A local file that is removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& folder)
      : path_(cat(folder, "/.rows-", random_hex(12), ".db")) {}
  ~TemporaryFile() {
    for (const char* part : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + part).c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The version of the run's rows in this folder's database.
std::optional<Snapshot> local_of(Database& database, const std::string& run) {
  Statement query = database.prepare(
      "SELECT owner_epoch, updated_at FROM runs WHERE name = ? AND status != 'QUEUED'");
  if (!query.add(run).next()) return std::nullopt;
  return Snapshot{.uri = "", .run = run, .epoch = query.integer(0), .time_ms = query.integer(1)};
}

std::string run_id_of(const std::string& path, const std::string& run) {
  Database rows = Database::open(path);
  Statement query = rows.prepare("SELECT run_id FROM runs WHERE name = ?");
  return query.add(run).next() ? query.text(0) : "";
}

// Whether the snapshot must replace the folder's rows of the run. Also called inside the
// transaction that replaces them, because the run's controller may have started meanwhile.
bool is_newer(Database& database, const std::string& run_path, const Snapshot& snapshot) {
  const auto local = local_of(database, snapshot.run);
  return (!local || snapshot.is_after(*local)) && !RunLock::is_held(run_path);
}

// An error of one run's rows, while the object store itself works.
struct UnreadableRows : Error {
  using Error::Error;
};

// The error's text without the path of the temporary copy, and without the advice for a local
// store.
std::string reason_of(const Error& e, const std::string& path) {
  std::string out = e.message().substr(0, e.message().find(": `rtrain gc --rebuild"));
  for (const std::string& name : {"the store " + path, path}) {
    for (size_t at = out.find(name); at != std::string::npos; at = out.find(name)) {
      out.replace(at, name.size(), "the file");
    }
  }
  return out;
}

void enter(Database& database, const std::string& run_path, const Snapshot& snapshot,
           const TemporaryFile& rows) try {
  const std::string run_id = run_id_of(rows.path(), snapshot.run);
  if (run_id.empty()) throw Error(Code::kEnvironment, "they have no run of that name");
  // Done first, so that no reader combines a new row with an old copy.
  CheckpointFiles(run_path).forget_copies(run_id, snapshot.epoch);
  copy_run(database, rows.path(), snapshot.run,
           [&] { return is_newer(database, run_path, snapshot); });
} catch (const Error& e) {
  throw UnreadableRows(Code::kEnvironment,
                       cat("the run's rows in the store, ", snapshot.uri,
                           ", cannot be read: ", reason_of(e, rows.path()),
                           "; if its controller is gone and puts no others, remove that object"));
}

// Returns false if the snapshot does not exist any more.
bool enter_newer(const std::string& folder, const Snapshot& snapshot) {
  Database database = Database::open(folder + "/rtrain.db");
  const std::string run_path = cat(folder, "/", snapshot.run);
  if (!is_newer(database, run_path, snapshot)) return true;
  const TemporaryFile rows(folder);
  try {
    lua::object_api().get_file(snapshot.uri, rows.path());
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;
    return false;
  }
  enter(database, run_path, snapshot, rows);
  return true;
}

}  // namespace

bool try_remove(const std::string& uri) {
  try {
    lua::object_api().remove(uri);
    return true;
  } catch (const Error& e) {
    if (e.code() != Code::kEnvironment) throw;
    return false;
  }
}

Error lost_owner(const std::string& run, const std::string& rows) {
  return Error(Code::kEnvironment, cat("another controller has taken over the run '", run,
                                       "': ", rows, " is a later owner's"));
}

bool is_far_run(const std::string& run_path) { return path_exists(cat(run_path, "/", kFarMark)); }

void set_far_run(const std::string& run_path) { replace_text(cat(run_path, "/", kFarMark), ""); }

void set_near_run(const std::string& run_path) { ::unlink(cat(run_path, "/", kFarMark).c_str()); }

void ObjectStorage::put_marker(const std::string& run, const std::string& text) const {
  lua::object_api().put_text(marker_uri(uri_, run), text);
}

std::string ObjectStorage::join(const std::string& run_path, const std::string& uri,
                                const std::string& text) try {
  const size_t name = run_path.rfind('/') + 1;
  const std::string run = run_path.substr(name);
  replace_text(cat(run_path.substr(0, name), kMark), uri + "\n");
  set_far_run(run_path);
  remove_tree(run_path + "/staging");
  const std::string found = lua::object_api().get_text_once(marker_uri(uri, run));
  return found == text ? "" : "it holds something else than what node 0 has put there";
} catch (const Error& e) {
  return e.message();
}

std::string ObjectStorage::folder_of(const std::string& uri) {
  std::string trimmed = uri;
  while (trimmed.ends_with('/')) trimmed.pop_back();
  const size_t scheme = trimmed.find("://");
  if (!is_object_uri(trimmed) || trimmed.size() <= scheme + 3 || trimmed[scheme + 3] == '/') {
    throw Error(Code::kConfig,
                cat("storage ", uri, ": expected a bucket, as in s3://bucket/folder"));
  }
  if (trimmed.find('?') != std::string::npos) {
    throw Error(Code::kConfig, cat("storage ", uri,
                                   ": options of the store belong into its variables, such as "
                                   "AWS_ENDPOINT_URL and AWS_DEFAULT_REGION"));
  }
  const std::string folder = absolute_path(
      cat(state_folder(), "/", trimmed.substr(0, scheme), "/", trimmed.substr(scheme + 3)));
  make_folders(folder);
  const std::string mark = cat(folder, "/", kMark);
  if (!path_exists(mark)) replace_text(mark, trimmed + "\n");
  return folder;
}

std::optional<ObjectStorage> ObjectStorage::of(const std::string& storage_path) {
  const std::string mark = cat(storage_path, "/", kMark);
  if (!path_exists(mark)) return std::nullopt;
  return ObjectStorage(storage_path, std::string(trim(read_text(mark))));
}

void ObjectStorage::refresh(const std::string& run) const {
  for (int tries = 0; tries <= kRetries; ++tries) {
    const auto newest = newest_of(list_snapshots(cat(rows_folder(uri_), "/", run)));
    const auto found = newest.find(run);
    if (found == newest.end() || enter_newer(folder_, found->second)) return;
    // The controller has replaced the rows since they were listed.
  }
  throw Error(Code::kEnvironment,
              cat("the run's rows in the store, ", rows_folder(uri_), "/", run, ", were replaced ",
                  kRetries + 1, " times while they were read: try again"));
}

std::map<std::string, std::string> ObjectStorage::refresh_all() const {
  std::map<std::string, std::string> problems;
  int failed_in_a_row = 0;
  for (const auto& [run, snapshot] : newest_of(list_snapshots(rows_folder(uri_)))) {
    try {
      if (!enter_newer(folder_, snapshot)) refresh(run);
      failed_in_a_row = 0;
    } catch (const UnreadableRows& e) {
      problems[run] = e.message();
    } catch (const Error& e) {
      // After two failures in a row the store itself is at fault, and each further time-out may
      // take a minute.
      if (++failed_in_a_row == 2) throw;
      problems[run] = e.message();
    }
  }
  return problems;
}

std::optional<std::string> ObjectStorage::later_owner(const std::string& run,
                                                      const ObjectOwner& owner) const {
  for (const Snapshot& each : list_snapshots(cat(rows_folder(uri_), "/", run))) {
    if (each.is_of_later(owner)) return each.uri;
  }
  return std::nullopt;
}

void ObjectStorage::check_owner(const std::string& run, const ObjectOwner& owner) const {
  if (const auto rows = later_owner(run, owner)) throw lost_owner(run, *rows);
}

void ObjectStorage::put_rows(Database& database, const std::string& run,
                             const ObjectOwner& owner) const {
  const std::string folder = cat(rows_folder(uri_), "/", run);
  const std::vector<Snapshot> old = list_snapshots(folder);
  const TemporaryFile file(folder_);
  int64_t time_ms = 0;
  {
    Database copy = Database::open(file.path());
    copy_run(copy, database.path(), run);
    Statement query = copy.prepare("SELECT updated_at FROM runs");
    if (query.next()) time_ms = query.integer(0);
  }
  const std::string uri = cat(folder, "/", owner.epoch, "-", time_ms, "-", owner.nonce, ".db");
  lua::object_api().put_file(uri, file.path(), [](uint64_t) {});
  for (const Snapshot& each : old) {
    if (each.uri != uri && !each.is_of_later(owner)) try_remove(each.uri);
  }
}

std::optional<ObjectOwner> ObjectStorage::owner_of(const std::string& run) const {
  const auto newest = newest_of(list_snapshots(cat(rows_folder(uri_), "/", run)));
  const auto found = newest.find(run);
  if (found == newest.end()) return std::nullopt;
  return ObjectOwner{found->second.epoch, found->second.nonce};
}

void ObjectStorage::put_changed_rows(Database& database, const std::string& run) const {
  // The store may not have any rows of the run.
  if (const auto owner = owner_of(run)) put_rows(database, run, *owner);
}

void ObjectStorage::remove_run(const std::string& run) const {
  lua::object_api().remove_folder(cat(uri_, "/", run));
  lua::object_api().remove_folder(cat(rows_folder(uri_), "/", run));
}

}  // namespace rtrain::store
