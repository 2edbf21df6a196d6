#include "host/store/upkeep/garbage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/claim/run_lock.h"
#include "host/store/claim/run_status.h"
#include "host/store/files/file.h"
#include "host/store/upkeep/rename_link.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

// The entries that a run's folder may have.
constexpr std::array<std::string_view, 9> kParts = {
    "checkpoints", "staging", "logs", "diag", "profiles", "damaged", "lock", "end", ".controller"};

// A controller creates its run's folder shortly before it takes the lock.
constexpr std::chrono::minutes kNewFolder{1};

struct KnownRun {
  std::string run_id;
  std::string status;
};

std::map<std::string, KnownRun> known_runs(Database& database) {
  std::map<std::string, KnownRun> out;
  Statement query = database.prepare("SELECT name, run_id, status FROM runs");
  while (query.next()) out[query.text(0)] = {query.text(1), query.text(2)};
  return out;
}

// Empty for a symlink, whose target does not belong to the run.
std::vector<std::string> own_entries(const std::string& folder) {
  return is_symlink(folder) ? std::vector<std::string>() : folder_entries(folder);
}

bool is_part(const std::string& entry) {
  return std::find(kParts.begin(), kParts.end(), entry) != kParts.end();
}

// Whether a controller has used the folder and all of its content is disposable. A folder with
// checkpoints is not, because their rows may be in another copy of the store.
bool is_spent_run_folder(const std::string& path) {
  if (RunLock::owner(path).pid == 0) return false;
  const std::vector<std::string> entries = folder_entries(path);
  const std::vector<std::string> logs = folder_entries(path + "/logs");
  return std::all_of(entries.begin(), entries.end(), is_part) &&
         std::all_of(logs.begin(), logs.end(),
                     [](const std::string& log) { return log.starts_with("attempt-"); }) &&
         folder_entries(path + "/checkpoints").empty() && folder_entries(path + "/damaged").empty();
}

// Whether a run may just be starting: the folder is new and has at most a lock and empty parts.
bool may_just_begin(const std::string& path) {
  std::error_code gone;
  const auto made = fs::last_write_time(path, gone);
  if (gone || fs::file_time_type::clock::now() - made > kNewFolder) return false;
  return std::all_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return folder_entries(cat(path, "/", part)).empty();
  });
}

class Search {
 public:
  using Kind = Garbage::Kind;

  Search(Database& database, const std::string& storage_path)
      : database_(database),
        storage_path_(storage_path),
        runs_(known_runs(database)),
        in_object_store_(ObjectStorage::of(storage_path).has_value()) {
    // After an interrupted rename that was committed, the run's name is a link to its folder.
    for (const auto& run : runs_) targets_.insert(link_target(cat(storage_path, "/", run.first)));
  }

  std::vector<Garbage> run() {
    for (const std::string& entry : folder_entries(storage_path_)) {
      const std::string path = cat(storage_path_, "/", entry);
      if (is_symlink(path)) {
        look_at_link(entry, path);
      } else if (path_kind(path) == "folder") {
        look_at_folder(entry, path);
      }
    }
    std::sort(found_.begin(), found_.end(),
              [](const Garbage& a, const Garbage& b) { return a.path < b.path; });
    return std::move(found_);
  }

 private:
  void add(Garbage::Kind kind, const std::string& path, const std::string& run_path = {}) {
    found_.push_back({kind, path, run_path, folder_size(path)});
  }

  void look_at_link(const std::string& entry, const std::string& path) {
    if (is_rename_link(path) && !runs_.contains(entry)) add(Kind::kLink, path);
  }

  void look_at_folder(const std::string& entry, const std::string& path) {
    if (entry.starts_with(kRemovedPrefix)) {
      const std::string id = entry.substr(kRemovedPrefix.size());
      const bool is_known = std::any_of(runs_.begin(), runs_.end(),
                                        [&](const auto& run) { return run.second.run_id == id; });
      if (!is_known) add(Kind::kRemoved, path);
      return;
    }
    if (entry.starts_with('.') || RunLock::is_held(path)) return;
    if (const auto run = runs_.find(entry); run != runs_.end()) {
      // Files in an object store are not examined here.
      if (!in_object_store_) look_into_run(path, run->second);
      return;
    }
    if (targets_.contains(entry) || !is_spent_run_folder(path) || may_just_begin(path)) return;
    add(Kind::kFolder, path, path);
  }

  void look_into_run(const std::string& path, const KnownRun& run) {
    for (const std::string& entry : own_entries(path + "/staging")) {
      add(Kind::kStaged, cat(path, "/staging/", entry), path);
    }
    if (!is_final_status(run.status)) return;
    std::set<std::string> rows;
    Statement query = database_.prepare(
        "SELECT name FROM checkpoints WHERE run_id = ? AND state IN ('kept', 'missing')");
    query.add(run.run_id);
    while (query.next()) rows.insert(query.text(0));
    for (const std::string& entry : own_entries(path + "/checkpoints")) {
      const std::string checkpoint = cat(path, "/checkpoints/", entry);
      std::string problem;
      if (rows.contains(entry)) continue;
      const auto manifest = Manifest::try_read(checkpoint, problem);
      // The folder has another name than its manifest: a copy made by someone else.
      if (!manifest || manifest->run_id != run.run_id || manifest->name != entry) continue;
      add(Kind::kCheckpoint, checkpoint, path);
    }
  }

  Database& database_;
  const std::string& storage_path_;
  std::map<std::string, KnownRun> runs_;
  std::set<std::string> targets_;
  bool in_object_store_;
  std::vector<Garbage> found_;
};

bool has_row(Database& database, const std::string& run_path) {
  const std::string name = run_path.substr(run_path.rfind('/') + 1);
  return database.prepare("SELECT 1 FROM runs WHERE name = ?").add(name).next();
}

bool has_checkpoint_row(Database& database, const Garbage& garbage) {
  return database
      .prepare(
          "SELECT 1 FROM checkpoints JOIN runs USING(run_id) WHERE runs.name = ? AND "
          "checkpoints.name = ? AND state IN ('kept', 'missing')")
      .add(garbage.run_path.substr(garbage.run_path.rfind('/') + 1))
      .add(garbage.path.substr(garbage.path.rfind('/') + 1))
      .next();
}

// If a reader holds the checkpoint, it is kept.
bool drop_checkpoint(const Garbage& garbage) {
  const std::string name = garbage.path.substr(garbage.path.rfind('/') + 1);
  CheckpointFiles(garbage.run_path).drop_copies({&name, 1});
  return !path_exists(garbage.path);
}

}  // namespace

std::vector<Garbage> find_garbage(Database& database, const std::string& storage_path) {
  return Search(database, storage_path).run();
}

bool remove_garbage(Database& database, const Garbage& garbage) {
  if (garbage.kind == Garbage::Kind::kLink) return ::unlink(garbage.path.c_str()) == 0;
  if (garbage.kind == Garbage::Kind::kRemoved) return remove_tree(garbage.path);
  // No controller can begin while the lock is held. The checks are repeated, because one may have
  // used the folder meanwhile.
  const std::optional<RunLock> lock = RunLock::try_take(garbage.run_path);
  if (!lock) return false;
  switch (garbage.kind) {
    case Garbage::Kind::kFolder:
      return !has_row(database, garbage.run_path) && remove_tree(garbage.path);
    case Garbage::Kind::kCheckpoint:
      return !has_checkpoint_row(database, garbage) && drop_checkpoint(garbage);
    default:
      return remove_tree(garbage.path);
  }
}

}  // namespace rtrain::store
