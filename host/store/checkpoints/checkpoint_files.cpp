#include "host/store/checkpoints/checkpoint_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "host/base/fault.h"
#include "host/base/files/inner_file.h"
#include "host/base/files/store_access.h"
#include "host/base/random.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/decide/checkpoints/commit_plan.h"
#include "host/store/checkpoints/far_store.h"
#include "host/store/checkpoints/merged_files.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

bool rename_with(const std::string& from, const std::string& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
}

// Renames the folder to a name that must be free. Returns false if it is not.
bool rename_to_free(const std::string& from, const std::string& to) {
  if (rename_with(from, to, RENAME_NOREPLACE)) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  // The file system does not support the flag. The check below is safe, because under the run's
  // lock only this process creates names here.
  if (errno == EINVAL || errno == ENOSYS) {
    if (path_exists(to)) return false;
    if (::rename(from.c_str(), to.c_str()) == 0) return true;
  }
  throw file_error("write", to);
}

// Opens the folder with an exclusive lock; nullopt if a reader holds it.
std::optional<OpenFile> try_lock_folder(const std::string& path) {
  OpenFile folder(path, O_RDONLY | O_DIRECTORY);
  if (::flock(folder.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  return folder;
}

// The drop mark of a directory under checkpoints/. For another directory no file of that name
// exists.
std::string drop_mark(const std::string& directory) {
  const std::filesystem::path path = directory;
  return path.parent_path().parent_path() / "staging" / ("drop-" + path.filename().string());
}

std::string stage_name(const StageKey& key) {
  return cat(key.attempt, "-", key.nonce, "-", key.index);
}

std::string staging_name(const StageKey& key) { return cat("staging/", stage_name(key)); }

// <run> of the path <run>/checkpoints/<name>; empty for another path.
std::string run_of(const std::filesystem::path& directory) {
  if (directory.parent_path().filename() != "checkpoints") return "";
  return directory.parent_path().parent_path();
}

// Throws for a symlink: its target does not belong to the run, so it is neither written nor
// removed.
void check_is_own(const std::string& folder) {
  if (!is_symlink(folder)) return;
  throw Error(Code::kEnvironment,
              cat(folder, " is a symlink, and no folder of the run: nothing is done there"));
}

void write_manifest(const std::string& folder, const Manifest& manifest) {
  fault_point("ckpt.manifest");
  OpenFile file(cat(folder, "/", kManifestName), O_WRONLY | O_CREAT | O_TRUNC);
  file.write(manifest.to_text());
  file.sync_data();
}

void sync_merged(const std::string& folder) {
  fault_point("ckpt.sync");
  sync_folder_tree(folder);
  fault_point("ckpt.rename");
}

Error used_before(const std::string& name, const std::string& by = "") {
  return Error(Code::kCheckpoint, cat("checkpoint_dir_name '", name, "' was used before", by,
                                      ": give each checkpoint its own name"));
}

}  // namespace

std::string checkpoint_path(const std::string& run_path, const std::string& name) {
  if (!is_inner_name(name)) {
    throw Error(Code::kCheckpoint,
                cat("'", terminal_line(name), "' is not the name of a checkpoint's folder"));
  }
  return cat(run_path, "/checkpoints/", name);
}

DirectoryLease::DirectoryLease(const std::string& directory) {
  const Error gone(Code::kCheckpoint, cat("the checkpoint ", directory, " is no longer there"));
  const std::string run_path = run_of(directory);
  if (!run_path.empty() && (!path_exists(directory) || is_far_run(run_path))) {
    CheckpointFiles(run_path).fetch(std::filesystem::path(directory).filename());
  }
  if (!path_exists(directory)) throw gone;
  folder_ = OpenFile(directory, O_RDONLY | O_DIRECTORY);
  while (::flock(folder_.fd(), LOCK_SH) != 0 && errno == EINTR) continue;
  // Retention may have renamed the directory between open and flock.
  if (!folder_.is_at_its_path()) throw gone;
}

DirectoryLease::~DirectoryLease() {
  if (!folder_) return;
  const std::string mark = drop_mark(folder_.path());
  if (!path_exists(mark) || ::flock(folder_.fd(), LOCK_EX | LOCK_NB) != 0) return;
  // The directory may have been replaced by another checkpoint of the same name, under this lock.
  if (!folder_.is_at_its_path()) return;
  remove_tree(folder_.path());
  ::unlink(mark.c_str());
}

CheckpointFiles::CheckpointFiles(std::string run_path, Patience patience)
    : run_path_(std::move(run_path)),
      patience_(std::move(patience)),
      objects_(ObjectCheckpoints::of(run_path_)) {}

std::string CheckpointFiles::staging_path(const StageKey& key) const {
  return cat(run_path_, "/", staging_name(key));
}

std::string CheckpointFiles::make_staging(const StageKey& key) const {
  return make_own_folder(staging_name(key));
}

// `name`: "staging", "checkpoints" or a folder below one of them.
std::string CheckpointFiles::make_own_folder(const std::string& name) const {
  std::string path = cat(run_path_, "/", name);
  patience_([&] {
    for (const std::string& folder : {cat(run_path_, "/", name.substr(0, name.find('/'))), path}) {
      check_is_own(folder);
      ensure_folder(folder);
    }
  });
  return path;
}

std::string CheckpointFiles::default_name(int64_t index) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "checkpoint_%06lld", static_cast<long long>(index));
  return text.data();
}

void CheckpointFiles::check_name(const std::string& name) {
  const bool hidden = name.empty() || name.front() == '.';
  const bool is_one =
      std::ranges::none_of(name, [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; });
  if (!hidden && name.size() <= 200 && is_one) return;
  throw Error(Code::kArgument, cat("checkpoint_dir_name '", terminal_line(name),
                                   "' is not the name of one folder (no '/', no leading '.', no "
                                   "control characters, at most 200 bytes)"));
}

StagedRank CheckpointFiles::stage(const StageKey& key, int64_t rank, const std::string& source,
                                  bool temporary, const BytesMoved& moved) const {
  const std::string folder = make_staging(key);
  fault_point("ckpt.stage");
  StagedRank staged = patience_(
      [&] { return stage_folder(source, cat(folder, "/rank-", rank), temporary, moved); });
  staged.rank = rank;
  if (objects_) objects_->put(stage_name(key), staged, cat(folder, "/rank-", rank), moved);
  if (is_far_run(run_path_)) {
    if (!objects_) far_store().put(key.index, staged, cat(folder, "/rank-", rank), moved);
    remove_tree(cat(folder, "/rank-", rank));
  }
  fault_point("ckpt.staged");
  return staged;
}

std::string CheckpointFiles::make_tempdir(int64_t attempt, const std::string& nonce) const {
  const std::string parent = make_own_folder(cat("staging/", attempt, "-", nonce, "-tmp"));
  return patience_([&] {
    std::string path = parent + "/XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw file_error("make folder", path);
    return path;
  });
}

// Moves the files of all ranks into the folder of the lowest rank.
std::string CheckpointFiles::gather(const MergedFiles& merged, const std::string& staging) const {
  const std::string target = cat(staging, "/rank-", merged.lowest_rank());
  for (const std::string& folder : merged.folders()) {
    const std::string path = cat(target, "/", folder);
    if (make_folder_in_store(path) != 0 && errno != EEXIST) throw file_error("make folder", path);
  }
  fault_point("ckpt.merge");
  for (const auto& [path, entry] : merged.files()) {
    if (entry.rank == merged.lowest_rank()) continue;
    const std::string to = cat(target, "/", path);
    if (!rename_with(cat(staging, "/rank-", entry.rank, "/", path), to, 0)) {
      throw file_error("write", to);
    }
  }
  return target;
}

bool CheckpointFiles::has_staged(const StageKey& key, std::span<const StagedRank> ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](const StagedRank& staged) {
    return path_exists(cat(staging_path(key), "/rank-", staged.rank));
  });
}

std::string CheckpointFiles::set_aside(const std::string& name) const {
  const std::string parent = make_own_folder("damaged");
  std::string target = cat(parent, "/", name);
  while (!rename_to_free(checkpoint_path(name), target)) {
    target = cat(parent, "/", name, "~", random_hex(6));
  }
  // Synced now, so that no crash can keep a later checkpoint of that name but lose this rename.
  sync_folder(parent);
  sync_folder(run_path_ + "/checkpoints");
  return target;
}

// Returns false if the name is not available: a reader holds the directory there, or the file
// system cannot exchange two names.
bool CheckpointFiles::publish(const std::string& merged, const Manifest& manifest,
                              std::vector<std::string>& warnings) const {
  const std::string target = checkpoint_path(manifest.name);
  if (rename_to_free(merged, target)) return true;
  std::string problem;
  const std::optional<Manifest> existing = Manifest::try_read(target, problem);
  if (existing && existing->run_id != manifest.run_id) {
    problem = cat("the checkpoint ", target, " belongs to another run");
  }
  decide::NamedFolder there{.has_manifest = problem.empty()};
  if (there.has_manifest) there.attempt = existing->attempt;
  std::optional<OpenFile> unused;  // the lock keeps readers from opening it
  there.is_held = path_kind(target) == "folder" && !(unused = try_lock_folder(target));
  switch (decide::choose_name(there, manifest.attempt)) {
    case decide::NameChoice::kRefuse:
      throw used_before(manifest.name, cat(", by report ", existing->index, " of this attempt"));
    case decide::NameChoice::kOther:
      return false;
    case decide::NameChoice::kSetAside:
      warnings.push_back(cat(problem, "; moved to ", set_aside(manifest.name)));
      return rename_to_free(merged, target);
    default:
      if (rename_with(merged, target, RENAME_EXCHANGE)) return true;
      if (errno != EINVAL && errno != ENOSYS) throw file_error("write", target);
      return false;
  }
}

CommittedCheckpoint CheckpointFiles::commit(const StageKey& key, Manifest manifest,
                                            std::span<const StagedRank> ranks) {
  check_name(manifest.name);
  CommittedCheckpoint out;
  RT_CHECK(!ranks.empty());
  fault_point("ckpt.merge");
  const MergedFiles merged(ranks);
  if (manifest.metadata == Value(Map{}) && !merged.metadata().is_nil()) {
    manifest.metadata = merged.metadata();
  }
  manifest.folders.assign(merged.folders().begin(), merged.folders().end());
  for (const auto& [path, entry] : merged.files()) manifest.files.push_back(entry.file);
  for (const std::string& warning : merged.warnings()) {
    out.warnings.push_back(cat("checkpoint ", manifest.name, ": ", warning));
  }
  // Ranks on far nodes have put their files only into the object store.
  const bool has_all = !objects_ || has_staged(key, ranks);
  has_all ? commit_here(key, merged, manifest, out) : clear_name(manifest, out);
  if (objects_) objects_->commit(stage_name(key), manifest, merged);
  fault_point("ckpt.clear");
  remove_tree(staging_path(key));
  out.path = checkpoint_path(manifest.name);
  out.manifest = std::move(manifest);
  return out;
}

void CheckpointFiles::commit_here(const StageKey& key, const MergedFiles& files, Manifest& manifest,
                                  CommittedCheckpoint& out) {
  const std::string staging = staging_path(key);
  make_own_folder("checkpoints");
  std::string merged;
  bool is_named = true;
  for (auto step = decide::CommitStep::kMerge; step != decide::CommitStep::kClearStaging;
       step = *decide::next_step(step, is_named)) {
    is_named = true;
    switch (step) {
      case decide::CommitStep::kMerge:
        merged = gather(files, staging);
        break;
      case decide::CommitStep::kWriteManifest:
        patience_([&] { write_manifest(merged, manifest); });
        break;
      case decide::CommitStep::kSyncTree:
        patience_([&] { sync_merged(merged); });
        break;
      case decide::CommitStep::kRename:
        is_named = try_name(merged, manifest, out);
        break;
      default:
        fault_point("ckpt.sync_parents");
        sync_folder(run_path_ + "/checkpoints");
        sync_folder(staging);
    }
  }
  std::erase(pending_drops_, manifest.name);  // a pending drop must not remove the new checkpoint
}

// Returns false if the checkpoint needs another name, and sets that in the manifest.
bool CheckpointFiles::try_name(const std::string& merged, Manifest& manifest,
                               CommittedCheckpoint& out) const {
  const bool is_free = !path_exists(checkpoint_path(manifest.name));
  if (publish(merged, manifest, out.warnings)) {
    out.replaced = !is_free;
    return true;
  }
  manifest.name = cat(manifest.name, "~", manifest.attempt);
  return false;
}

// Frees the name on this disk for a checkpoint that only the object store has.
void CheckpointFiles::clear_name(Manifest& manifest, CommittedCheckpoint& out) {
  const auto all = objects_->list();
  if (const auto found = all.find(manifest.name); found != all.end()) {
    if (found->second.attempt >= manifest.attempt) throw used_before(manifest.name);
    out.replaced = true;
  }
  if (!try_drop_copy(manifest.name)) manifest.name = cat(manifest.name, "~", manifest.attempt);
}

void CheckpointFiles::put_back(const std::string& folder, const std::string& name) const {
  make_own_folder("checkpoints");
  sync_folder_tree(folder);
  if (!rename_to_free(folder, checkpoint_path(name))) {
    throw Error(Code::kCheckpoint,
                cat("the checkpoint ", checkpoint_path(name), " is there again"));
  }
  sync_folder(run_path_ + "/checkpoints");
}

bool CheckpointFiles::try_drop_copy(const std::string& name) const {
  const std::string path = checkpoint_path(name);
  if (!path_exists(path)) return true;
  check_is_own(run_path_ + "/checkpoints");
  const auto unused = try_lock_folder(path);
  if (!unused) return false;
  make_own_folder("staging");
  const std::string trash = cat(run_path_, "/staging/trash-", random_hex(12));
  fault_point("ckpt.drop");
  if (::rename(path.c_str(), trash.c_str()) != 0) throw file_error("remove", path);
  fault_point("ckpt.delete");
  remove_tree(trash);
  return true;
}

void CheckpointFiles::drop_stored(const std::string& name) const {
  if (objects_) objects_->drop(name);
}

void CheckpointFiles::drop(std::span<const std::string> names) {
  std::vector<std::string> wanted = std::exchange(pending_stored_, {});
  wanted.insert(wanted.end(), names.begin(), names.end());
  for (const std::string& name : wanted) {
    try {
      drop_stored(name);
    } catch (const Error& e) {
      if (e.code() != Code::kEnvironment) throw;
      pending_stored_.push_back(name);
    }
  }
  drop_copies(names);
}

void CheckpointFiles::drop_copies(std::span<const std::string> names) {
  std::vector<std::string> wanted = std::exchange(pending_drops_, {});
  wanted.insert(wanted.end(), names.begin(), names.end());
  for (const std::string& name : wanted) {
    if (!try_drop_copy(name)) pending_drops_.push_back(name);
  }
}

void CheckpointFiles::leave_drops_to_readers() {
  for (const std::string& name : pending_drops_) leave_to_readers(name);
  drop_copies({});  // those dropped before the mark existed
}

void CheckpointFiles::leave_to_readers(const std::string& name) const {
  make_own_folder("staging");
  OpenFile(drop_mark(checkpoint_path(name)), O_WRONLY | O_CREAT);
}

std::map<std::string, ObjectCheckpoints::Entry> CheckpointFiles::stored() const {
  return objects_ ? objects_->list() : std::map<std::string, ObjectCheckpoints::Entry>();
}

void CheckpointFiles::forget_copies(const std::string& run_id, int64_t epoch) const {
  const auto all = stored();
  for (const std::string& name : committed_names()) {
    const auto found = all.find(name);
    std::string problem;
    const auto manifest = Manifest::try_read(checkpoint_path(name), problem);
    if (manifest && manifest->run_id != run_id) {
      set_aside(name);
      continue;
    }
    if (manifest && manifest->owner_epoch > epoch) continue;
    if (manifest && found != all.end() && found->second.is_of(*manifest)) continue;
    if (!try_drop_copy(name)) leave_to_readers(name);
  }
}

void CheckpointFiles::store(const std::string& name) const {
  if (!objects_) return;
  const std::string folder = checkpoint_path(name);
  const Manifest manifest = Manifest::read(folder);
  const StagedRank all{.rank = 0, .files = manifest.files};
  const std::string stage = cat(manifest.attempt, "-", random_hex(16), "-", manifest.index);
  objects_->put(stage, all, folder, [](uint64_t) {});
  objects_->commit(stage, manifest, MergedFiles({&all, 1}));
}

void CheckpointFiles::fetch(const std::string& name) const {
  const bool is_far = is_far_run(run_path_);
  if (!objects_ && !is_far) return;
  make_folders(run_path_);  // the run may exist only in the object store
  // One process fetches at a time; the others then find its copy.
  OpenFile turn(cat(make_own_folder("staging"), "/fetch-lock"), O_WRONLY | O_CREAT);
  while (::flock(turn.fd(), LOCK_EX) != 0 && errno == EINTR) continue;
  if (is_far) objects_ ? forget_old_copies() : forget_old_copy(name);
  if (path_exists(checkpoint_path(name))) return;
  const std::string folder = cat(run_path_, "/staging/fetch-", random_hex(12));
  try {
    objects_ ? objects_->get(name, folder) : get_far_checkpoint(name, folder);
    if (is_far) make_own_folder("checkpoints");
    put_back(folder, name);
  } catch (const Error& e) {
    remove_tree(folder);
    if (e.code() == Code::kNotFound) throw Error(Code::kCheckpoint, e.message());
    throw;
  }
}

// The same for a node that asks node 0.
void CheckpointFiles::forget_old_copy(const std::string& name) const {
  if (!path_exists(checkpoint_path(name)) || is_far_copy(checkpoint_path(name), name)) return;
  if (!try_drop_copy(name)) set_aside(name);
}

// For a far node, where no controller removes outdated copies.
void CheckpointFiles::forget_old_copies() const {
  const auto all = stored();
  for (const std::string& name : committed_names()) {
    std::string problem;
    const auto found = all.find(name);
    const auto manifest = Manifest::try_read(checkpoint_path(name), problem);
    if (manifest && found != all.end() && found->second.is_of(*manifest)) continue;
    if (!try_drop_copy(name)) set_aside(name);
  }
}

void CheckpointFiles::clear_attempt(int64_t attempt, const std::string& nonce) const {
  const std::string prefix = cat(attempt, "-", nonce, "-");
  for (const std::string& entry : folder_entries(run_path_ + "/staging")) {
    if (entry.starts_with(prefix)) remove_tree(cat(run_path_, "/staging/", entry));
  }
}

void CheckpointFiles::clear_staging() const {
  remove_tree(run_path_ + "/staging");
  if (!objects_) return;
  try {
    objects_->sweep();
  } catch (const Error& e) {
    if (e.code() != Code::kEnvironment) throw;  // the next sweep tries again
  }
}

Manifest CheckpointFiles::verify(const std::string& directory) {
  Manifest manifest = Manifest::read(directory);
  verify_files(directory, manifest, true);
  return manifest;
}

std::vector<std::string> CheckpointFiles::committed_names() const {
  return folder_entries(run_path_ + "/checkpoints");
}

}  // namespace rtrain::store
