#include "host/store/runs/run_opening.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/fault.h"
#include "host/base/random.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/machine/libraries/libtorch.h"
#include "host/machine/machine.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/claim/run_name.h"
#include "host/store/claim/run_owner.h"
#include "host/store/claim/run_status.h"
#include "host/store/db/row_values.h"
#include "host/store/files/file.h"
#include "host/store/runs/environment.h"
#include "host/store/runs/queued_run.h"
#include "host/store/runs/source_store.h"

namespace rtrain::store {
namespace {

constexpr std::array kParts = {"checkpoints", "staging", "logs"};

Value list_of(const std::vector<std::string>& texts) { return List(texts.begin(), texts.end()); }

void check_run_name(const std::string& name) {
  const std::string problem = run_name_problem(name);
  if (problem.empty()) return;
  throw Error(Code::kConfig, cat("'", name, "' cannot be a run's name: ", problem));
}

Error name_taken(const std::string& name, std::string_view reason) {
  return Error(Code::kConfig,
               cat("the run name '", name, "' is taken: ", reason,
                   ". Give this run another name (--name, or RunConfig.name), or go on with that "
                   "one (--resume auto, or RunConfig.resume = 'auto')"));
}

// The error for a run that another controller owns, whether or not that one's row exists yet.
Error run_is_live(const NewRun& run, const std::string& run_path) {
  const std::string owner = cat("is being run by ", RunLock::owner(run_path).to_text());
  if (run.resume == ResumeMode::kNever) return name_taken(run.name, cat("that run ", owner));
  return Error(Code::kEnvironment,
               cat("the run '", run.name, "' ", owner,
                   ": two controllers never write one run. Wait for that one to end, or stop it "
                   "(rtrain stop ",
                   shell_word(run.name), ")"));
}

Value environment_of(const NewRun& run) {
  Map out{{"git_commit", nullptr},
          {"git_dirty", nullptr},
          {"hostname", machine::hostname()},
          {"command", list_of(run.command)},
          {"pid", static_cast<int64_t>(::getpid())},
          {"version", rtrain_version()},
          {"libtorch", machine::libtorch_build()},
          {"kernel", kernel_release()},
          {"cores", machine::available_cores()},
          {"memory_bytes", machine::memory_bytes()},
          {"variables", recorded_variables()}};
  if (run.environment.is_map()) {
    for (const auto& [key, value] : run.environment.as_map()) out.set(key, value);
  }
  return out;
}

// An existing run's row. A run that is only queued does not count.
struct FoundRun {
  std::string run_id;
  std::string status;
  int64_t started_at = 0;
  int64_t updated_at = 0;
  int64_t owner_epoch = 0;
  std::string failures;
  std::string owner;
  std::string tags;
};

std::optional<FoundRun> find_run(Database& database, const std::string& name) {
  Statement query = database.prepare(
      "SELECT run_id, status, started_at, updated_at, owner_epoch, failures, owner, tags FROM runs "
      "WHERE name = ? AND status != 'QUEUED'");
  if (!query.add(name).next()) return std::nullopt;
  return FoundRun{.run_id = entry_name(query, 0),
                  .status = query.text(1),
                  .started_at = query.integer(2),
                  .updated_at = query.integer(3),
                  .owner_epoch = query.integer(4),
                  .failures = query.text(5),
                  .owner = query.text(6),
                  .tags = query.text(7)};
}

std::vector<std::string> names_of_runs(Database& database) {
  std::vector<std::string> names;
  Statement query = database.prepare("SELECT name FROM runs ORDER BY started_at DESC");
  while (query.next()) names.push_back(query.text(0));
  return names;
}

// Throws if the mode does not allow the run, before anything is changed.
void check_mode(Database& database, const NewRun& run, const std::optional<FoundRun>& found) {
  if (found && run.resume == ResumeMode::kNever) {
    const std::string run_path = cat(run.storage_path, "/", run.name);
    const bool lost = !is_final_status(found->status) && !RunLock::is_held(run_path);
    throw name_taken(run.name, cat("a run of that name is in ", database.path(), " (",
                                   lost ? "LOST" : found->status, ", started ",
                                   time_text(found->started_at), ")"));
  }
  if (!found && run.resume == ResumeMode::kMust) {
    throw Error(Code::kConfig, cat("resume = 'must': there is no run '", run.name, "' in ",
                                   run.storage_path, suggestion(run.name, names_of_runs(database)),
                                   "; resume = 'auto' begins one where there is none"));
  }
}

// A controller that died before it wrote its run's row leaves a lock and empty folders.
void check_leftover(const NewRun& run, const std::string& run_path, const std::string& entry) {
  if (entry == "lock" || entry == "end") return;
  const bool is_part = std::find(kParts.begin(), kParts.end(), entry) != kParts.end();
  const std::string path = cat(run_path, "/", entry);
  if (is_part && path_kind(path) == "folder" && folder_entries(path).empty()) return;
  if (RunLock::is_held(run_path)) throw run_is_live(run, run_path);
  if (run.resume == ResumeMode::kNever) {
    throw name_taken(run.name, cat("the folder ", run_path, " exists"));
  }
  throw Error(Code::kConfig,
              cat("the folder ", run_path, " exists, and the store ", run.storage_path,
                  "/rtrain.db knows no such run: `rtrain gc --rebuild --storage ",
                  shell_word(run.storage_path),
                  "` brings a run back from its checkpoints; else take another name"));
}

// Returns true if the folder did not exist before.
bool make_run_folder(const NewRun& run, const std::string& path, bool is_known) {
  if (make_folder(path)) return true;
  if (is_known) return false;
  for (const std::string& entry : folder_entries(path)) check_leftover(run, path, entry);
  return false;
}

// The folder of a new run. The destructor removes what is empty of it, unless keep() was called. It
// exists only while the run's lock is held, so the folder is never another controller's.
class NewRunFolder {
 public:
  explicit NewRunFolder(const RunClaim& claim) : claim_(&claim) {}
  ~NewRunFolder() {
    if (claim_ == nullptr) return;
    for (const char* part : kParts) ::rmdir(cat(claim_->run_path, "/", part).c_str());
    claim_->end.remove();
    claim_->lock.remove_file();
    ::rmdir(claim_->run_path.c_str());
  }
  NewRunFolder(const NewRunFolder&) = delete;
  NewRunFolder& operator=(const NewRunFolder&) = delete;

  void keep() { claim_ = nullptr; }

 private:
  const RunClaim* claim_;
};

void insert_run(OpenedRun& opened, const NewRun& run) {
  const int64_t now = now_ms();
  opened.claim.run_id = random_hex(16);
  remove_queued_run(opened.claim.database, run.name);
  opened.claim.database.run(
      "INSERT INTO runs(run_id, name, status, num_workers, script, note, command, tags, config, "
      "scaling, checkpoint_config, environment, started_at, updated_at, owner_epoch, owner) "
      "VALUES(?, ?, 'INITIALIZING', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      opened.claim.run_id, run.name, run.num_workers, run.script, run.note,
      to_json(list_of(run.command)), to_json(list_of(run.tags)), to_json(or_empty_map(run.config)),
      to_json(or_empty_map(run.scaling)), to_json(or_empty_map(run.checkpoint_config)),
      to_json(environment_of(run)), now, now, opened.claim.owner_epoch,
      RunOwner::of_this_process().to_json());
}

// The run's existing tags, followed by the new ones.
std::string joined_tags(const std::string& old_json, const std::vector<std::string>& added) {
  List tags = from_json(old_json).as_list();
  for (const std::string& tag : added) {
    if (std::find(tags.begin(), tags.end(), Value(tag)) == tags.end()) tags.push_back(tag);
  }
  return to_json(tags);
}

void update_row(const RunClaim& claim, Database& database, const FoundRun& found,
                const NewRun& run) {
  database.run(
      "UPDATE runs SET status = 'INITIALIZING', owner_epoch = ?, owner = ?, num_workers = ?, "
      "script = ?, command = ?, tags = ?, config = ?, scaling = ?, checkpoint_config = ?, "
      "environment = ?, note = CASE WHEN ? = '' THEN note ELSE ? END, updated_at = ?, "
      "ended_at = NULL, error = NULL, return_value = NULL WHERE run_id = ?",
      claim.owner_epoch, RunOwner::of_this_process().to_json(), run.num_workers, run.script,
      to_json(list_of(run.command)), joined_tags(found.tags, run.tags),
      to_json(or_empty_map(run.config)), to_json(or_empty_map(run.scaling)),
      to_json(or_empty_map(run.checkpoint_config)), to_json(environment_of(run)), run.note,
      run.note, now_ms(), claim.run_id);
}

void take_over(OpenedRun& opened, const FoundRun& found, const NewRun& run) {
  RunClaim& claim = opened.claim;
  claim.run_id = found.run_id;
  claim.owner_epoch = found.owner_epoch + 1;
  opened.resumed = true;
  // After a finished run the retry budgets start at zero; after an interrupted one they continue.
  if (found.status != "FINISHED") opened.failures = from_json(found.failures);
  Statement last =
      claim.database.prepare("SELECT coalesce(max(attempt), 0) FROM attempts WHERE run_id = ?");
  last.add(claim.run_id).next();
  opened.last_attempt = last.integer(0);
  last.reset();
  opened.notice =
      cat("going on with the run '", run.name, "' (",
          is_final_status(found.status) ? found.status : "LOST", ", last written by ",
          RunOwner::from_json(found.owner).to_text(), "), attempt ", opened.last_attempt + 1);
  update_row(claim, claim.database, found, run);
  claim.database.run(
      "UPDATE attempts SET status = 'LOST', ended_at = ? WHERE run_id = ? AND ended_at IS NULL",
      found.updated_at, claim.run_id);
  claim.database.run(
      "INSERT INTO events(run_id, attempt, time, level, text) VALUES(?, ?, ?, 'info', ?)",
      claim.run_id, opened.last_attempt, now_ms(), opened.notice);
}

}  // namespace

OpenedRun open_run(const NewRun& run) {
  check_run_name(run.name);
  make_folders(run.storage_path);
  if (const auto objects = ObjectStorage::of(run.storage_path)) objects->refresh(run.name);
  Database database = Database::open(run.storage_path + "/rtrain.db", run.on_waiting);
  enter_run_ends(database, run.storage_path);
  const std::optional<FoundRun> known = find_run(database, run.name);
  check_mode(database, run, known);
  if (known) database.check();
  const std::string run_path = cat(run.storage_path, "/", run.name);
  const bool is_new = make_run_folder(run, run_path, known.has_value());
  std::optional<RunLock> lock = RunLock::try_take(run_path);
  if (!lock) throw run_is_live(run, run_path);
  OpenedRun opened{.claim = {.database = std::move(database),
                             .lock = std::move(*lock),
                             .run_id = "",
                             .name = run.name,
                             .run_path = run_path,
                             .place = RunPlace(run_path),
                             .end = RunEnd(run_path)}};
  NewRunFolder folder(opened.claim);
  if (!is_new) folder.keep();
  set_near_run(run_path);
  for (const char* part : kParts) make_folders(cat(run_path, "/", part));
  sync_folder(run.storage_path);

  fault_point("run.create");
  Transaction transaction(opened.claim.database, Durability::kFull);
  // Checked again inside the transaction: another controller may have begun it since.
  const std::optional<FoundRun> found = find_run(opened.claim.database, run.name);
  if (found) folder.keep();
  check_mode(opened.claim.database, run, found);
  if (found) {
    take_over(opened, *found, run);
  } else {
    insert_run(opened, run);
  }
  set_sources(opened.claim.database, opened.claim.run_id, run.sources);
  transaction.commit();
  folder.keep();
  return opened;
}

}  // namespace rtrain::store
