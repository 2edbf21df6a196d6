#include "host/store/upkeep/run_editor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/fault.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/claim/run_name.h"
#include "host/store/claim/run_status.h"
#include "host/store/files/file.h"
#include "host/store/upkeep/rename_link.h"
#include "host/store/upkeep/run_tag.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts(const std::string& json) {
  std::vector<std::string> out;
  const Value list = from_json(json);
  for (const Value& item : list.as_list()) out.push_back(item.as_string());
  return out;
}

bool has(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool exchange(const std::string& a, const std::string& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

// Replaces `link`, which points to `folder`, by the folder itself. Meanwhile readers find the run
// under both names, except on file systems that cannot exchange two names.
void replace_link(const std::string& link, const std::string& folder) {
  if (!exchange(link, folder)) {
    if (errno != EINVAL && errno != ENOSYS) throw file_error("rename", folder);
    if (::unlink(link.c_str()) != 0) throw file_error("remove", link);
    if (::rename(folder.c_str(), link.c_str()) != 0) throw file_error("rename", folder);
    return;
  }
  fault_point("run.exchange");
  if (::unlink(folder.c_str()) != 0) throw file_error("remove", folder);
}

// Reserves a run's new name by a link to its folder. The destructor removes the link unless keep()
// was called.
class TakenName {
 public:
  TakenName(const std::string& path, const std::string& folder) : path_(path) {
    if (make_rename_link(path, folder) || link_target(path) == folder) return;
    if (errno != EEXIST) throw file_error("make", path);
    throw usage_error(cat("the name is taken by the ", path_kind(path), " ", path));
  }
  ~TakenName() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TakenName(const TakenName&) = delete;
  TakenName& operator=(const TakenName&) = delete;
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace

RunEditor::RunEditor(const std::string& storage_path)
    : storage_path_(storage_path),
      objects_(ObjectStorage::of(storage_path)),
      database_(Database::open(storage_path + "/rtrain.db")) {}

std::string RunEditor::cell(const RunRef& run, std::string_view column) {
  Statement query = database_.prepare(cat("SELECT ", column, " FROM runs WHERE run_id = ?"));
  if (query.add(run.run_id).next()) return query.text(0);
  throw usage_error(cat("the run '", run.name, "' was just removed"));
}

// Throws for an unfinished run in an object store: its controller may be anywhere, and would
// overwrite the change.
void RunEditor::check_stored(const RunRef& run) {
  if (!objects_) return;
  const std::string status = cell(run, "status");
  if (is_final_status(status)) return;
  throw usage_error(
      cat("the run '", run.name, "' in ", objects_->uri(),
          " has not ended: its controller may be on another machine. Wait for its end"));
}

void RunEditor::update(const RunRef& run, std::string_view column,
                       const std::function<std::optional<std::string>()>& value) {
  Transaction transaction(database_, Durability::kFull);
  check_stored(run);
  // In an object store the copy with the newer updated_at is valid, so the change must raise it.
  // Elsewhere updated_at stays, because it shows the controller's activity.
  database_.run(cat("UPDATE runs SET ", column,
                    " = ?, updated_at = CASE WHEN ? THEN "
                    "max(updated_at + 1, ?) ELSE updated_at END WHERE run_id = ?"),
                value(), int64_t{objects_.has_value()}, now_ms(), run.run_id);
  transaction.commit();
  if (objects_) objects_->put_changed_rows(database_, run.name);
}

std::vector<std::string> RunEditor::tags(const RunRef& run) { return texts(cell(run, "tags")); }

std::vector<std::string> RunEditor::change_tags(const RunRef& run,
                                                std::span<const std::string> added,
                                                std::span<const std::string> removed) {
  for (const std::string& tag : added) {
    const std::string problem = tag_problem(tag);
    if (!problem.empty()) throw usage_error(cat("'", tag, "' cannot be a tag: ", problem));
  }
  std::vector<std::string> now;
  update(run, "tags", [&] {
    check_has_tags(run, removed);
    now = tags(run);
    std::erase_if(now, [&](const std::string& tag) { return has(removed, tag); });
    for (const std::string& tag : added) {
      if (!has(now, tag)) now.push_back(tag);
    }
    return to_json(List(now.begin(), now.end()));
  });
  return now;
}

void RunEditor::check_has_tags(const RunRef& run, std::span<const std::string> removed) {
  const std::vector<std::string> there = tags(run);
  for (const std::string& tag : removed) {
    if (has(there, tag)) continue;
    throw usage_error(
        cat("the run '", run.name, "' has no tag '", tag, "'", suggestion(tag, there)));
  }
}

std::string RunEditor::note(const RunRef& run) { return cell(run, "note"); }

void RunEditor::set_note(const RunRef& run, const std::string& note) {
  update(run, "note", [&] { return note; });
}

std::string RunEditor::append_note(const RunRef& run, const std::string& line) {
  std::string now;
  update(run, "note", [&] {
    now = note(run);
    now = now.empty() ? line : cat(now, "\n", line);
    return now;
  });
  return now;
}

void RunEditor::set_archived(const RunRef& run, bool archived) {
  if (archived == !cell(run, "archived_at").empty()) return;
  update(run, "archived_at", [archived]() -> std::optional<std::string> {
    if (!archived) return std::nullopt;
    return cat(now_ms());
  });
}

std::optional<RunLock> RunEditor::claim(const RunRef& run, std::string_view wanted) {
  if (path_kind(run.path) != "folder") return std::nullopt;
  std::optional<RunLock> lock = RunLock::try_take(run.path);
  if (lock) return lock;
  throw usage_error(cat("the run '", run.name, "' is being run by ",
                        RunLock::owner(run.path).to_text(), ": a live run cannot be ", wanted,
                        ". Stop it first: rtrain stop ", shell_word(run.name)));
}

// A rename that was interrupted after its commit has left a link under the run's name.
void RunEditor::finish_rename(const RunRef& run) {
  const std::string target = link_target(run.path);
  if (target.empty()) return;
  const std::string folder = cat(storage_path_, "/", target);
  if (is_symlink(folder) || path_kind(folder) != "folder") return;
  replace_link(run.path, folder);
  sync_folder(storage_path_);
}

void RunEditor::rename(const RunRef& run, const std::string& name) {
  if (objects_) {
    throw Error(Code::kUnsupported, cat("the run '", run.name, "' keeps its name: its objects in ",
                                        objects_->uri(), " have it. A tag or a note can say more"));
  }
  if (const std::string problem = run_name_problem(name); !problem.empty()) {
    throw usage_error(cat("'", name, "' cannot be a run's name: ", problem));
  }
  if (cell(run, "status") == "QUEUED") {
    throw usage_error(
        cat("the run '", run.name, "' waits in a queue: its job begins a run of that name"));
  }
  if (name == run.name) return;
  const auto check_is_free = [&] {
    if (!database_.prepare("SELECT 1 FROM runs WHERE name = ?").add(name).next()) return;
    throw usage_error(cat("the name '", name, "' is taken by another run"));
  };
  check_is_free();
  const std::string new_path = cat(storage_path_, "/", name);
  const std::optional<RunLock> lock = claim(run, "renamed");
  finish_rename(run);
  // The row may get the new name once that leads to the folder.
  std::optional<TakenName> taken;
  if (path_kind(run.path) == "folder") taken.emplace(new_path, run.name);
  fault_point("run.rename");
  Transaction transaction(database_, Durability::kFull);
  check_is_free();
  database_.run("UPDATE runs SET name = ? WHERE run_id = ?", name, run.run_id);
  transaction.commit();
  if (!taken) return;
  taken->keep();
  replace_link(new_path, run.path);
  sync_folder(storage_path_);
}

void RunEditor::drop_checkpoints(const RunRef& run, std::span<const std::string> names) {
  check_stored(run);
  const std::optional<RunLock> lock = claim(run, "pruned");
  Transaction transaction(database_, Durability::kFull);
  for (const std::string& name : names) {
    const int64_t changed = database_.run(
        "UPDATE checkpoints SET state = 'dropped' WHERE run_id = ? AND name = ? AND state = 'kept'",
        run.run_id, name);
    if (changed == 0)
      throw usage_error(cat("the run '", run.name, "' has no checkpoint '", name, "'"));
  }
  transaction.commit();
  // Files that a kill leaves from here on are found by gc and by the run's next start.
  CheckpointFiles files(run.path);
  if (objects_) {
    objects_->put_changed_rows(database_, run.name);
    if (const auto owner = objects_->owner_of(run.name)) files.set_owner(*owner);
  }
  files.drop(names);
  files.leave_drops_to_readers();
}

void RunEditor::check_removable(const RunRef& run, std::string_view wanted) {
  check_stored(run);
  if (RunLock::is_held(run.path)) claim(run, wanted);
}

void RunEditor::remove(const RunRef& run) {
  check_stored(run);
  const std::optional<RunLock> lock = claim(run, "removed");
  finish_rename(run);
  if (objects_) objects_->remove_run(run.name);
  const std::string trash = cat(storage_path_, "/", kRemovedPrefix, run.run_id);
  Transaction transaction(database_, Durability::kFull);
  database_.run("DELETE FROM runs WHERE run_id = ?", run.run_id);
  if (::rename(run.path.c_str(), trash.c_str()) != 0 && errno != ENOENT) {
    throw file_error("remove", run.path);
  }
  sync_folder(storage_path_);
  fault_point("run.remove");
  transaction.commit();
  fault_point("run.removed");
  remove_tree(trash);
}

}  // namespace rtrain::store
