#include "host/store/run_store.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/json.h"
#include "host/base/machine.h"
#include "host/base/text.h"
#include "host/store/checkpoint_files.h"
#include "host/store/fenced_write.h"
#include "host/store/file.h"
#include "host/store/run_owner.h"
#include "host/store/stored_metrics.h"

namespace rtrain {
namespace {

constexpr double kSyncIntervalS = 1.0;
constexpr std::string_view kMarkMissing =
    "UPDATE checkpoints SET state = 'missing' WHERE run_id = ? AND name = ? AND state = 'kept'";

// The attempt that committed the directory; 0 when its manifest does not say.
int64_t manifest_attempt(const std::string& directory) {
  try {
    return Manifest::read(directory).attempt;
  } catch (const Error& e) {
    if (e.code() != Code::kCheckpoint) throw;
    return 0;
  }
}

Value map_or(const Value& value) { return value.is_nil() ? Value(Map{}) : value; }

std::optional<std::string> optional_json(const Value& value) {
  if (value.is_nil()) return std::nullopt;
  return to_json(value);
}

Value list_of(const std::vector<std::string>& texts) {
  List out;
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

void check_run_name(const std::string& name) {
  const bool control = std::any_of(name.begin(), name.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  const bool reserved = name == "last" || name.starts_with("rtrain.db");
  const bool usable = !name.empty() && name.size() <= 200 && name.front() != '.' &&
                      name.front() != '-' && name.find('/') == std::string::npos;
  if (usable && !control && !reserved) return;
  throw Error(Code::kConfig,
              cat("'", name,
                  "' cannot be a run's name: it is a folder's name of at most 200 bytes "
                  "without '/', does not begin with '.' or '-', and is not 'last'"));
}

Error name_taken(const std::string& name, std::string_view reason) {
  return Error(Code::kConfig,
               cat("the run name '", name, "' is taken: ", reason,
                   ". Give this run another name (--name, or RunConfig.name), or continue that one "
                   "with resume, which this version does not have yet"));
}

void check_free(Database& database, const std::string& name) {
  Statement query = database.prepare("SELECT status, started_at FROM runs WHERE name = ?");
  if (!query.add(name).next()) return;
  throw name_taken(name, cat("a run of that name is in ", database.path(), " (", query.text(0),
                             ", started ", time_text(query.integer(1)), ")"));
}

Value environment_of(const NewRun& run) {
  Map out{{"git_commit", nullptr},
          {"git_dirty", nullptr},
          {"hostname", hostname()},
          {"command", list_of(run.command)},
          {"pid", static_cast<int64_t>(::getpid())}};
  if (run.environment.is_map()) {
    for (const auto& [key, value] : run.environment.as_map()) out.set(key, value);
  }
  return out;
}

// The run's folders, taken away again unless keep() is called.
class NewFolder {
 public:
  NewFolder(const std::string& name, const std::string& path) : path_(path) {
    made_ = ::mkdir(path.c_str(), 0777) == 0;
    if (made_) return;
    if (errno != EEXIST) throw file_error("make folder", path);
    for (const std::string& entry : folder_entries(path)) {
      if (entry != "lock") throw name_taken(name, cat("the folder ", path, " exists"));
    }
  }
  ~NewFolder() {
    if (made_) remove_tree(path_);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  void keep() { made_ = false; }

 private:
  std::string path_;
  bool made_;
};

}  // namespace

RunStore::RunStore(RunClaim claim) : claim_(std::move(claim)) {}

std::unique_ptr<RunStore> RunStore::create(const NewRun& run) {
  check_run_name(run.name);
  make_folders(run.storage_path);
  Database database = Database::open(run.storage_path + "/rtrain.db");
  check_free(database, run.name);
  const std::string run_path = cat(run.storage_path, "/", run.name);
  NewFolder folder(run.name, run_path);
  std::optional<RunLock> lock = RunLock::try_take(run_path);
  if (!lock) throw name_taken(run.name, "another process is starting a run of that name");
  for (const char* part : {"/checkpoints", "/staging", "/logs"}) make_folders(run_path + part);
  sync_folder(run.storage_path);

  RunClaim claim{.database = std::move(database),
                 .lock = std::move(*lock),
                 .run_id = random_hex(16),
                 .name = run.name,
                 .run_path = run_path};
  std::unique_ptr<RunStore> store(new RunStore(std::move(claim)));
  fault_point("run.create");
  store->insert_run(run);
  folder.keep();
  return store;
}

void RunStore::insert_run(const NewRun& run) {
  Transaction transaction(claim_.database, Durability::kFull);
  check_free(claim_.database, run.name);
  const int64_t now = now_ms();
  claim_.database.run(
      "INSERT INTO runs(run_id, name, status, num_workers, script, note, command, tags, config, "
      "scaling, checkpoint_config, environment, started_at, updated_at, owner_epoch, owner) "
      "VALUES(?, ?, 'INITIALIZING', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      claim_.run_id, run.name, run.num_workers, run.script, run.note, to_json(list_of(run.command)),
      to_json(list_of(run.tags)), to_json(map_or(run.config)), to_json(map_or(run.scaling)),
      to_json(map_or(run.checkpoint_config)), to_json(environment_of(run)), now, now,
      claim_.owner_epoch, RunOwner::of_this_process().to_json());
  transaction.commit();
}

void RunStore::set_status(std::string_view status) {
  FencedWrite write(claim_, Durability::kNormal);
  write.run("UPDATE runs SET status = ? WHERE run_id = ?", status, claim_.run_id);
  write.commit();
}

std::string RunStore::begin_attempt(int64_t attempt, std::optional<int64_t> resumed_index) {
  const std::string nonce = random_hex(8);
  FencedWrite write(claim_, Durability::kFull);
  write.run(
      "INSERT INTO attempts(run_id, attempt, nonce, status, resumed_index, started_at) "
      "VALUES(?, ?, ?, 'RUNNING', ?, ?)",
      claim_.run_id, attempt, nonce, resumed_index, now_ms());
  write.run("UPDATE reports SET superseded = 1 WHERE run_id = ? AND attempt < ? AND idx > ?",
            claim_.run_id, attempt, resumed_index.value_or(-1));
  write.commit();
  return nonce;
}

void RunStore::set_workers(int64_t attempt, std::span<const WorkerRow> workers) {
  FencedWrite write(claim_, Durability::kNormal);
  Statement insert = write.prepare(
      "INSERT OR REPLACE INTO workers(run_id, attempt, rank, pid, host, device, exit_code, signal) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  for (const WorkerRow& worker : workers) {
    insert.add(claim_.run_id).add(attempt).add(worker.rank).add(worker.pid).add(worker.host);
    insert.add(worker.device).add(worker.exit_code).add(worker.signal).run();
  }
  write.commit();
}

void RunStore::end_attempt(int64_t attempt, std::string_view status, const Value& error) {
  FencedWrite write(claim_, Durability::kFull);
  write.run(
      "UPDATE attempts SET status = ?, ended_at = ?, error = ? WHERE run_id = ? AND attempt = ?",
      status, now_ms(), optional_json(error), claim_.run_id, attempt);
  write.commit();
}

void RunStore::add_reports(std::span<const ReportRow> reports) {
  if (reports.empty()) return;
  const bool sync_is_due = monotonic_s() - claim_.last_sync_s >= kSyncIntervalS;
  FencedWrite write(claim_, sync_is_due ? Durability::kFull : Durability::kNormal);
  Statement insert = write.prepare(
      "INSERT INTO reports(run_id, attempt, idx, rank, time, metrics, nonfinite) "
      "VALUES(?, ?, ?, ?, ?, ?, ?)");
  for (const ReportRow& report : reports) {
    const StoredMetrics stored = store_metrics(map_or(report.metrics));
    insert.add(claim_.run_id).add(report.attempt).add(report.index).add(report.rank);
    insert.add(report.time_ms).add(stored.json).add(stored.nonfinite).run();
  }
  write.commit();
}

void RunStore::sync_reports() {
  if (!claim_.unsynced) return;
  FencedWrite write(claim_, Durability::kFull);
  write.commit();
}

double RunStore::batch_delay_s() const {
  constexpr double kLocalS = 0.03;
  constexpr double kNetworkS = 1.0;
  constexpr double kLongestS = 5.0;
  // Writing takes at most a fifth of the time, so that readers and other controllers get in
  // between.
  return std::clamp(4 * claim_.commit_s, claim_.database.on_network() ? kNetworkS : kLocalS,
                    kLongestS);
}

void RunStore::insert_checkpoint(const CheckpointRow& row) {
  const StoredMetrics stored = store_metrics(map_or(row.metrics));
  claim_.database.run(
      "UPDATE checkpoints SET state = 'superseded' WHERE run_id = ? AND name = ? AND "
      "state IN ('kept', 'missing')",
      claim_.run_id, row.name);
  claim_.database.run(
      "INSERT INTO checkpoints(run_id, name, attempt, idx, metrics, nonfinite, size_bytes, "
      "created_at, state) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 'kept')",
      claim_.run_id, row.name, row.attempt, row.index, stored.json, stored.nonfinite,
      row.size_bytes, row.created_at_ms);
}

std::vector<CheckpointRow> RunStore::read_kept() {
  Statement query = claim_.database.prepare(
      "SELECT name, attempt, idx, metrics, nonfinite, size_bytes, created_at FROM checkpoints "
      "WHERE run_id = ? AND state = 'kept' ORDER BY idx, attempt, checkpoint_id");
  query.add(claim_.run_id);
  std::vector<CheckpointRow> rows;
  while (query.next()) {
    CheckpointRow row;
    row.name = query.text(0);
    row.attempt = query.integer(1);
    row.index = query.integer(2);
    row.metrics = load_metrics(query.text(3), query.text(4));
    row.size_bytes = query.integer(5);
    row.created_at_ms = query.integer(6);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> RunStore::apply_retention(const RetentionPolicy& policy) {
  const std::vector<CheckpointRow> kept = read_kept();
  std::vector<Value> metrics;
  for (const CheckpointRow& row : kept) metrics.push_back(row.metrics);
  std::vector<std::string> dropped;
  for (const size_t position : checkpoints_to_drop(policy, metrics)) {
    dropped.push_back(kept[position].name);
    claim_.database.run(
        "UPDATE checkpoints SET state = 'dropped' WHERE run_id = ? AND name = ? AND state = 'kept'",
        claim_.run_id, kept[position].name);
  }
  return dropped;
}

std::vector<std::string> RunStore::add_checkpoint(const CheckpointRow& row,
                                                  const RetentionPolicy& policy) {
  FencedWrite write(claim_, Durability::kFull);
  insert_checkpoint(row);
  std::vector<std::string> dropped = apply_retention(policy);
  write.commit();
  return dropped;
}

void RunStore::set_checkpoint_missing(const std::string& name) {
  FencedWrite write(claim_, Durability::kFull);
  write.run(kMarkMissing, claim_.run_id, name);
  write.commit();
}

std::vector<CheckpointRow> RunStore::kept_checkpoints() { return read_kept(); }

bool RunStore::was_dropped(const std::string& name, int64_t attempt) {
  Statement query = claim_.database.prepare(
      "SELECT 1 FROM checkpoints WHERE run_id = ? AND name = ? AND attempt = ? AND "
      "state IN ('dropped', 'superseded')");
  return query.add(claim_.run_id).add(name).add(attempt).next();
}

// One directory without a kept row: left by a crash between the rename and the row, or between the
// row and the drop.
RunStore::Leftover RunStore::sweep_directory(const std::string& name, const std::string& path) {
  try {
    const Manifest manifest = Manifest::read(path);
    if (was_dropped(name, manifest.attempt)) {
      return {true, cat("deleted the dropped checkpoint ", name)};
    }
    if (manifest.run_id != claim_.run_id || manifest.owner_epoch > claim_.owner_epoch) {
      return {false, cat("left alone ", path, ": it belongs to another run")};
    }
    verify_files(path, manifest, true);
    fault_point("sweep.adopt");
    insert_checkpoint({name, manifest.attempt, manifest.index, manifest.metrics,
                       manifest.size_bytes(), manifest.created_at_ms});
    return {false, cat("adopted the checkpoint ", name, ", committed as its controller ended")};
  } catch (const Error& e) {
    if (e.code() != Code::kCheckpoint) throw;
    return {false, cat("left alone ", path, ": ", e.message())};
  }
}

std::vector<std::string> RunStore::sweep(CheckpointFiles& files, const RetentionPolicy& policy) {
  fault_point("sweep.begin");
  std::vector<std::string> findings;
  std::vector<std::string> drop;
  FencedWrite write(claim_, Durability::kFull);
  std::set<std::pair<std::string, int64_t>> kept;
  for (const CheckpointRow& row : read_kept()) kept.insert({row.name, row.attempt});
  for (const std::string& name : files.committed_names()) {
    const std::string path = files.checkpoint_path(name);
    if (kept.contains({name, manifest_attempt(path)})) continue;
    Leftover leftover = sweep_directory(name, path);
    if (leftover.drop) drop.push_back(name);
    findings.push_back(std::move(leftover.finding));
  }
  for (const CheckpointRow& row : read_kept()) {
    if (path_exists(files.checkpoint_path(row.name))) continue;
    write.run(kMarkMissing, claim_.run_id, row.name);
    findings.push_back(cat("the checkpoint ", row.name, " is missing"));
  }
  for (std::string& name : apply_retention(policy)) drop.push_back(std::move(name));
  write.commit();
  fault_point("sweep.clear");
  files.clear_staging();
  files.drop(drop);
  return findings;
}

void RunStore::end_run(std::string_view status, const Value& error, const Value& return_value) {
  FencedWrite write(claim_, Durability::kFull);
  write.run(
      "UPDATE runs SET status = ?, ended_at = ?, error = ?, return_value = ? WHERE run_id = ?",
      status, now_ms(), optional_json(error), optional_json(return_value), claim_.run_id);
  write.commit();
}

void RunStore::add_event(int64_t attempt, std::string_view level, std::string_view text) {
  FencedWrite write(claim_, Durability::kNormal);
  write.run("INSERT INTO events(run_id, attempt, time, level, text) VALUES(?, ?, ?, ?, ?)",
            claim_.run_id, attempt, now_ms(), level, text);
  write.commit();
}

}  // namespace rtrain
