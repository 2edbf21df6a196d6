#include "tests/sim/worlds/disk_world.h"

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostControllers = 5;
constexpr int kMostReports = 8;
constexpr const char* kManifest = "manifest";

std::string path_of(const std::string& name) { return cat("checkpoints/", name); }

decide::RetentionPolicy make_policy(Draws& draws) {
  decide::RetentionPolicy policy;
  if (draws.chance(0.7)) policy.num_to_keep = 1 + draws.below(2);
  if (draws.chance(0.5)) policy.score_attribute = "acc";
  return policy;
}

}  // namespace

DiskWorld::DiskWorld(Draws& draws)
    : draws_(draws),
      policy_(make_policy(draws)),
      crash_rate_(0.002 * draws.below(20)),
      num_ranks_(1 + draws.below(2)) {
  for (const char* folder : {"checkpoints", "staging", "damaged"}) disk_.make_folder(folder);
  disk_.sync_folder("");
}

void DiskWorld::live() {
  const int num_controllers = 1 + draws_.below(kMostControllers);
  for (int i = 0; i < num_controllers; ++i) {
    try {
      run_controller();
    } catch (const Crash&) {
      tell([] { return "the machine stops, and begins again"; });
      disk_.crash(draws_);
      pending_drops_.clear();
      mark("a crash");
    }
  }
  is_calm_ = true;
  sweep();
  check_start();
}

// Counts one operation of the disk; the process may crash after it.
void DiskWorld::tick(const std::string& what) {
  tell([&] { return what; });
  if (!is_calm_ && draws_.chance(crash_rate_)) throw Crash();
}

void DiskWorld::run_controller() {
  sweep();
  check_start();
  begin_attempt();
  const int num_reports = draws_.below(kMostReports);
  for (int i = 0; i < num_reports; ++i) {
    if (draws_.chance(0.1)) begin_attempt();
    if (draws_.chance(0.05)) put_foreign_folder();
    if (draws_.chance(0.05)) leave_late_folder();
    report();
  }
  if (!draws_.chance(0.5)) remove_tree("staging");  // a clean end of the run
  if (!disk_.exists("staging")) disk_.make_folder("staging");
}

void DiskWorld::begin_attempt() {
  for (const std::string& name : disk_.names("staging")) remove_tree(cat("staging/", name));
  const Row* from = newest(rows_);
  attempts_.push_back({static_cast<int64_t>(attempts_.size()) + 1, from ? from->index : -1});
  next_index_ = attempts_.back().resumed_index + 1;
  tick(cat("attempt ", attempts_.size(), " begins from ", from ? from->name : "nothing"));
}

void DiskWorld::report() {
  Commit commit = stage();
  std::optional<decide::CommitStep> step = decide::CommitStep::kMerge;
  try {
    while (step) step = decide::next_step(*step, perform(*step, commit));
  } catch (const Error& e) {
    demand(e.code() == Code::kCheckpoint, "a commit fails for another reason than its name");
    mark("a name was refused");
  }
}

DiskWorld::Commit DiskWorld::stage() {
  Commit out;
  out.row = {.name = cat("checkpoint_", next_index_),
             .attempt = attempts_.back().number,
             .index = next_index_,
             .score = draws_.below(3)};
  if (draws_.chance(0.3)) out.row.name = "best";
  out.staging = cat("staging/", out.row.attempt, "-", next_index_++);
  out.merged = cat(out.staging, "/rank-0");
  disk_.make_folder(out.staging);
  for (int rank = 0; rank < num_ranks_; ++rank) {
    const std::string folder = cat(out.staging, "/rank-", rank);
    disk_.make_folder(folder);
    const std::string name = cat("part-", rank);
    const std::string text = cat(name, " of report ", out.row.index, ", attempt ", out.row.attempt);
    disk_.write(cat(folder, "/", name), text);
    tick(cat("rank ", rank, " writes ", text));
    disk_.sync_file(cat(folder, "/", name));
    tick(cat("rank ", rank, " syncs it"));
    out.files[name] = text;
  }
  return out;
}

bool DiskWorld::perform(decide::CommitStep step, Commit& commit) {
  switch (step) {
    case decide::CommitStep::kMerge:
      merge(commit);
      break;
    case decide::CommitStep::kWriteManifest:
      write_manifest(commit);
      break;
    case decide::CommitStep::kSyncTree:
      disk_.sync_folder(commit.merged);
      tick("syncs the folder of the checkpoint");
      break;
    case decide::CommitStep::kRename:
      return take_name(commit);
    case decide::CommitStep::kSyncParents:
      disk_.sync_folder("checkpoints");
      tick("syncs checkpoints/");
      disk_.sync_folder(commit.staging);
      tick("syncs the staging folder");
      break;
    case decide::CommitStep::kClearStaging:
      remove_tree(commit.staging);
      break;
    case decide::CommitStep::kWriteRow:
      insert(rows_, commit.row);
      commit.dropped = apply_retention(rows_);
      tick(cat("the row of ", commit.row.name, " is in the store"));
      break;
    case decide::CommitStep::kAnswer:
      answered_.push_back(commit.row);
      mark("report() returned");
      tick(cat("report() returns for ", commit.row.name));
      break;
    case decide::CommitStep::kDrop:
      drop(commit.dropped);
  }
  return true;
}

void DiskWorld::merge(Commit& commit) {
  for (int rank = 1; rank < num_ranks_; ++rank) {
    const std::string folder = cat(commit.staging, "/rank-", rank);
    for (const std::string& name : disk_.names(folder)) {
      disk_.rename(cat(folder, "/", name), cat(commit.merged, "/", name));
      tick(cat("moves ", name, " to rank 0's"));
    }
  }
}

std::string DiskWorld::add_manifest(const Manifest& manifest) {
  const std::string text = cat("manifest ", ++num_made_);
  manifests_[text] = manifest;
  return text;
}

void DiskWorld::write_manifest(const Commit& commit) {
  const std::string path = cat(commit.merged, "/", kManifest);
  disk_.write(path, add_manifest({true, commit.row, commit.files}));
  tick("writes the manifest");
  disk_.sync_file(path);
  tick("syncs it");
}

// Does the same as CheckpointFiles::publish.
bool DiskWorld::take_name(Commit& commit) {
  const std::string path = path_of(commit.row.name);
  std::optional<decide::NamedFolder> there;
  if (disk_.exists(path)) {
    const Manifest* manifest = manifest_at(path);
    there = decide::NamedFolder{.has_manifest = manifest != nullptr && manifest->is_of_run,
                                .attempt = manifest != nullptr ? manifest->row.attempt : 0,
                                .is_held = draws_.chance(0.1)};
  }
  switch (decide::choose_name(there, commit.row.attempt)) {
    case decide::NameChoice::kRefuse:
      throw Error(Code::kCheckpoint, "the name was used before");
    case decide::NameChoice::kOther:
      commit.row.name = cat(commit.row.name, "~", commit.row.attempt);
      mark("another name");
      return false;
    case decide::NameChoice::kExchange:
      disk_.exchange(commit.merged, path);
      tick(cat("exchanges the folder with ", path));
      mark("replaced");
      break;
    case decide::NameChoice::kSetAside:
      clear_name(commit.row.name);
      [[fallthrough]];
    case decide::NameChoice::kRename:
      demand(disk_.rename(commit.merged, path), "a name is taken that is not free");
      tick(cat("renames the folder to ", path));
  }
  std::erase(pending_drops_, commit.row.name);
  demand(manifest_at(path)->row.name == commit.row.name,
         "a checkpoint has another name than its manifest says");
  return true;
}

void DiskWorld::clear_name(const std::string& name) {
  disk_.rename(path_of(name), cat("damaged/", name, "~", ++num_made_));
  tick(cat("sets ", name, " aside"));
  disk_.sync_folder("damaged");
  disk_.sync_folder("checkpoints");
  tick("syncs damaged/ and checkpoints/");
  mark("set aside");
}

// Some checkpoints stay for now because readers hold them.
void DiskWorld::drop(const std::vector<std::string>& names) {
  std::vector<std::string> wanted = std::exchange(pending_drops_, {});
  wanted.insert(wanted.end(), names.begin(), names.end());
  for (const std::string& name : wanted) {
    if (!disk_.exists(path_of(name))) continue;
    if (!is_calm_ && draws_.chance(0.2)) {
      pending_drops_.push_back(name);
      continue;
    }
    const std::string trash = cat("staging/trash-", ++num_made_);
    disk_.rename(path_of(name), trash);
    tick(cat("moves ", name, " to the trash"));
    remove_tree(trash);
  }
}

void DiskWorld::remove_tree(const std::string& path) {
  for (const std::string& name : disk_.names(path)) remove_tree(cat(path, "/", name));
  disk_.remove(path);
  tick(cat("removes ", path));
}

// Does the same as CheckpointTable::insert.
void DiskWorld::insert(std::vector<Row>& rows, const Row& row) {
  for (Row& each : rows) {
    const bool is_there = each.state == State::kKept || each.state == State::kMissing;
    if (each.name == row.name && is_there) each.state = State::kSuperseded;
  }
  rows.push_back(row);
}

std::vector<std::string> DiskWorld::apply_retention(std::vector<Row>& rows) const {
  std::vector<Row*> kept;
  for (Row& row : rows) {
    if (row.state == State::kKept) kept.push_back(&row);
  }
  std::ranges::stable_sort(kept, {},
                           [](const Row* row) { return std::pair(row->index, row->attempt); });
  std::vector<Value> metrics;
  for (const Row* row : kept) metrics.push_back(Map{{"acc", row->score}});
  std::vector<std::string> dropped;
  for (const size_t at : decide::checkpoints_to_drop(policy_, metrics)) {
    kept[at]->state = State::kDropped;
    dropped.push_back(kept[at]->name);
  }
  return dropped;
}

const DiskWorld::Manifest* DiskWorld::manifest_at(const std::string& folder) const {
  const auto text = disk_.text(cat(folder, "/", kManifest));
  const auto manifest = text ? manifests_.find(*text) : manifests_.end();
  return manifest == manifests_.end() ? nullptr : &manifest->second;
}

bool DiskWorld::is_whole(const std::string& folder, const Manifest& manifest) const {
  return std::ranges::all_of(manifest.files, [&](const auto& file) {
    return disk_.text(cat(folder, "/", file.first)) == file.second;
  });
}

decide::FoundRows DiskWorld::rows_of(const std::string& name, const Manifest* manifest) const {
  decide::FoundRows out;
  for (const Row& row : rows_) {
    if (row.name != name) continue;
    if (row.state == State::kKept) out.kept_attempt = row.attempt;
    const bool is_dropped = row.state == State::kDropped || row.state == State::kSuperseded;
    if (manifest != nullptr && row.attempt == manifest->row.attempt && is_dropped)
      out.was_dropped = true;
  }
  for (const Attempt& each : attempts_) {
    if (manifest != nullptr && each.number > manifest->row.attempt &&
        each.resumed_index < manifest->row.index)
      out.was_left_behind = true;
  }
  return out;
}

// Does the same as CheckpointTable::sweep: one transaction, then the deletions.
void DiskWorld::sweep() {
  tick("a controller starts");
  if (!disk_.exists("staging")) disk_.make_folder("staging");
  std::vector<Row> rows = rows_;
  std::vector<std::string> gone;
  for (const std::string& name : disk_.names("checkpoints")) judge(name, rows, gone);
  for (Row& row : rows) {
    if (row.state == State::kKept && !disk_.exists(path_of(row.name))) row.state = State::kMissing;
  }
  const std::vector<std::string> dropped = apply_retention(rows);
  rows_ = rows;
  tick("the rows are in the store");
  drop(gone);
  drop(dropped);
  for (const std::string& name : disk_.names("staging")) remove_tree(cat("staging/", name));
}

void DiskWorld::judge(const std::string& name, std::vector<Row>& rows,
                      std::vector<std::string>& drop) {
  const Manifest* manifest = manifest_at(path_of(name));
  std::optional<decide::FoundManifest> found;
  if (manifest != nullptr) found = {manifest->is_of_run, manifest->row.attempt};
  switch (decide::judge_folder(found, rows_of(name, manifest))) {
    case decide::SweepVerdict::kDamaged:
      for (Row& row : rows) {
        if (row.name == name && row.state == State::kKept) row.state = State::kMissing;
      }
      return clear_name(name);
    case decide::SweepVerdict::kDropped:
    case decide::SweepVerdict::kLeftBehind:
      mark("deleted at a start");
      return drop.push_back(name);
    case decide::SweepVerdict::kUnrecorded:
      demand(std::ranges::none_of(attempts_,
                                  [&](const Attempt& each) {
                                    return each.number > manifest->row.attempt &&
                                           each.resumed_index < manifest->row.index;
                                  }),
             "a checkpoint is adopted that a later attempt did not go on from");
      if (!is_whole(path_of(name), *manifest)) return;
      mark("adopted");
      tell([&] { return cat("adopts ", name); });
      return insert(rows, Row{.name = name,
                              .attempt = manifest->row.attempt,
                              .index = manifest->row.index,
                              .score = manifest->row.score});
    default:
      return;
  }
}

// A user copies a checkpoint of another run here, or creates a folder.
void DiskWorld::put_foreign_folder() {
  Manifest manifest{.is_of_run = false, .row = {}, .files = {}};
  manifest.row.attempt = 1 + draws_.below(3);
  const std::string text = cat("of somebody else ", ++num_made_);
  manifest.files["part-0"] = text;
  const std::string name =
      draws_.chance(0.5) ? "best" : cat("checkpoint_", draws_.below(kMostReports));
  if (disk_.exists(path_of(name))) return;
  foreign_.push_back(text);
  put_folder(name, manifest);
}

// Publishes a checkpoint of an older controller that has not noticed yet that it lost the run.
void DiskWorld::leave_late_folder() {
  if (attempts_.size() < 2) return;
  Manifest manifest;
  manifest.row.attempt = attempts_.back().number - 1;
  manifest.row.index = draws_.below(kMostReports);
  manifest.row.name = cat("checkpoint_", manifest.row.index);
  manifest.files["part-0"] = cat("late ", ++num_made_);
  if (!disk_.exists(path_of(manifest.row.name))) put_folder(manifest.row.name, manifest);
}

// Writes a complete and synced checkpoint folder.
void DiskWorld::put_folder(const std::string& name, const Manifest& manifest) {
  const std::string folder = path_of(name);
  disk_.make_folder(folder);
  for (const auto& [file, text] : manifest.files) {
    disk_.write(cat(folder, "/", file), text);
    disk_.sync_file(cat(folder, "/", file));
  }
  if (manifest.is_of_run || draws_.chance(0.5)) {
    disk_.write(cat(folder, "/", kManifest), add_manifest(manifest));
    disk_.sync_file(cat(folder, "/", kManifest));
  }
  disk_.sync_folder(folder);
  disk_.sync_folder("checkpoints");
  tick(cat("a folder ", name, " is there, ",
           manifest.is_of_run ? "of a controller that is gone" : "of somebody else"));
}

const DiskWorld::Row* DiskWorld::newest(const std::vector<Row>& rows) const {
  const Row* out = nullptr;
  for (const Row& row : rows) {
    if (row.state != State::kKept) continue;
    if (out == nullptr || std::pair(row.index, row.attempt) > std::pair(out->index, out->attempt))
      out = &row;
  }
  return out;
}

void DiskWorld::check_start() const {
  for (const Row& row : rows_) {
    if (row.state != State::kKept) continue;
    const Manifest* manifest = manifest_at(path_of(row.name));
    demand(manifest != nullptr && is_whole(path_of(row.name), *manifest),
           "a row names a checkpoint that is not whole");
    demand(manifest->is_of_run && manifest->row.attempt == row.attempt &&
               manifest->row.index == row.index,
           "a row names another checkpoint than its own");
  }
  for (const Row& answered : answered_) {
    const auto row = std::ranges::find_if(rows_, [&](const Row& each) {
      return each.name == answered.name && each.attempt == answered.attempt &&
             each.index == answered.index;
    });
    demand(row != rows_.end() && row->state != State::kMissing,
           "a checkpoint is gone that report() returned for");
    demand(policy_.num_to_keep || row->state != State::kDropped,
           "a checkpoint was dropped though all are to be kept");
  }
  if (!answered_.empty()) {
    const Row* last = newest(rows_);
    demand(last != nullptr && last->index >= answered_.back().index,
           "the run would go on from before the last checkpoint that report() returned for");
  }
  demand(disk_.names("staging").empty(), "something is left in staging");
  check_foreign();
}

void DiskWorld::check_foreign() const {
  for (const std::string& text : foreign_) {
    bool is_there = false;
    for (const char* parent : {"checkpoints", "damaged"}) {
      for (const std::string& name : disk_.names(parent))
        is_there = is_there || disk_.text(cat(parent, "/", name, "/part-0")) == text;
    }
    demand(is_there, "somebody else's folder is gone");
  }
}

}  // namespace rtrain::sim
