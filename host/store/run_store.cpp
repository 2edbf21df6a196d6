#include "host/store/run_store.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/json.h"
#include "host/base/machine.h"
#include "host/base/text.h"
#include "host/store/fenced_write.h"
#include "host/store/file.h"
#include "host/store/run_owner.h"
#include "host/store/stored_metrics.h"

namespace rtrain {
namespace {

constexpr double kSyncIntervalS = 1.0;
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

std::string RunStore::begin_attempt(int64_t attempt, int num_workers,
                                    std::optional<int64_t> resumed_index) {
  const std::string nonce = random_hex(8);
  FencedWrite write(claim_, Durability::kFull);
  write.run(
      "INSERT INTO attempts(run_id, attempt, num_workers, nonce, status, resumed_index, "
      "started_at) VALUES(?, ?, ?, ?, 'RUNNING', ?, ?)",
      claim_.run_id, attempt, num_workers, nonce, resumed_index, now_ms());
  write.run("UPDATE runs SET num_workers = ? WHERE run_id = ?", num_workers, claim_.run_id);
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
