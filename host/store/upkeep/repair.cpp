#include "host/store/upkeep/repair.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/claim/run_end.h"
#include "host/store/claim/run_lock.h"
#include "host/store/db/database.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

struct CloseDatabase {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};
using Damaged = std::unique_ptr<sqlite3, CloseDatabase>;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Query = std::unique_ptr<sqlite3_stmt, Finalize>;

Query prepare(sqlite3* handle, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr);
  return Query(statement);
}

std::vector<std::string> texts(Database& database, const std::string& sql, int column) {
  std::vector<std::string> out;
  Statement query = database.prepare(sql);
  while (query.next()) out.push_back(query.text(column));
  return out;
}

std::string_view bytes_of(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(row, column))};
}

// Copies the readable rows of one table.
class TableCopy {
 public:
  TableCopy(sqlite3* from, Database& to, std::string table)
      : from_(from), to_(to), table_(std::move(table)) {
    const Query info = prepare(from_, cat("PRAGMA table_info(", table_, ")"));
    std::vector<std::string> old;
    while (info && sqlite3_step(info.get()) == SQLITE_ROW) {
      old.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(info.get(), 1)));
    }
    for (const std::string& name : texts(to_, cat("PRAGMA table_info(", table_, ")"), 1)) {
      if (std::find(old.begin(), old.end(), name) != old.end()) columns_.push_back(name);
    }
  }

  // Returns one line about the result; empty if the table was empty.
  std::string run() {
    if (columns_.empty()) return cat(table_, ": nothing could be read");
    bool complete = copy("");
    // Reads backwards from the end, to get the rows after the damage.
    if (!complete) copy(cat(" ORDER BY ", key(), " DESC"));
    if (!complete) copy_each_run();
    if (complete && copied_ == 0) return {};
    return cat(table_, ": ", copied_, complete ? " rows" : " rows saved, others are damaged");
  }

 private:
  // Between two damaged places there may be whole runs, which are read one by one.
  void copy_each_run() {
    if (std::find(columns_.begin(), columns_.end(), "run_id") == columns_.end()) return;
    for (const std::string& id : texts(to_, "SELECT quote(run_id) FROM runs", 0)) {
      const std::string of_run = cat(" WHERE run_id = ", id);
      if (!copy(of_run)) copy(cat(of_run, " ORDER BY ", key(), " DESC"));
    }
  }

  std::string key() {
    const auto names = texts(
        to_, cat("SELECT name FROM pragma_table_info('", table_, "') WHERE pk > 0 ORDER BY pk"), 0);
    return names.empty() ? "rowid" : join(names, " DESC, ");
  }

  bool copy(const std::string& order) {
    const std::string names = join(columns_, ", ");
    const Query query = prepare(from_, cat("SELECT ", names, " FROM ", table_, order));
    if (!query) return false;
    std::string marks;
    for (size_t i = 0; i < columns_.size(); ++i) marks += i == 0 ? "?" : ", ?";
    Statement insert =
        to_.prepare(cat("INSERT OR IGNORE INTO ", table_, "(", names, ") VALUES(", marks, ")"));
    int result = sqlite3_step(query.get());
    for (; result == SQLITE_ROW; result = sqlite3_step(query.get())) copy_row(query.get(), insert);
    return result == SQLITE_DONE;
  }

  void copy_row(sqlite3_stmt* row, Statement& insert) {
    for (int i = 0; i < static_cast<int>(columns_.size()); ++i) add_cell(row, i, insert);
    try {
      insert.run();
      copied_ += to_.changes();
    } catch (const Error&) {
      insert.reset();  // a cell that violates the schema counts as damage
    }
  }

  static void add_cell(sqlite3_stmt* row, int column, Statement& insert) {
    switch (sqlite3_column_type(row, column)) {
      case SQLITE_NULL:
        insert.add(nullptr);
        return;
      case SQLITE_INTEGER:
        insert.add(int64_t{sqlite3_column_int64(row, column)});
        return;
      case SQLITE_FLOAT:
        insert.add(sqlite3_column_double(row, column));
        return;
      case SQLITE_BLOB:
        insert.add(Blob{bytes_of(row, column)});
        return;
      default:
        insert.add(bytes_of(row, column));
    }
  }

  sqlite3* from_;
  Database& to_;
  std::string table_;
  std::vector<std::string> columns_;
  int64_t copied_ = 0;
};

// Opens for writing, because changes in the journal belong to the file.
Damaged open_damaged(const std::string& path) {
  sqlite3* handle = nullptr;
  sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  return Damaged(handle);
}

// Reads the whole file. A missing or empty file counts as sound.
bool is_sound(const std::string& path) {
  if (!path_exists(path)) return true;
  const Damaged database = open_damaged(path);
  const Query check = prepare(database.get(), "PRAGMA integrity_check(1)");
  const int result = check ? sqlite3_step(check.get()) : sqlite3_errcode(database.get());
  if (result == SQLITE_ROW) return bytes_of(check.get(), 0) == "ok";
  // Errors that mean only that the file could not be examined, not that it is damaged.
  constexpr std::array kRefusals = {SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_BUSY, SQLITE_LOCKED};
  if (std::find(kRefusals.begin(), kRefusals.end(), result & 0xff) == kRefusals.end()) return false;
  throw Error(Code::kEnvironment, cat("cannot read the store ", path, ": ",
                                      std::string_view(sqlite3_errmsg(database.get()))));
}

void copy_tables(const std::string& path, Database& to, std::vector<std::string>& lines) {
  const Damaged from = open_damaged(path);
  // Otherwise SQLite would refuse a truncated file as a whole.
  sqlite3_exec(from.get(), "PRAGMA writable_schema=ON", nullptr, nullptr, nullptr);
  const auto tables = texts(
      to, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", 0);
  for (const std::string& table : tables) {
    std::string line = TableCopy(from.get(), to, table).run();
    if (!line.empty()) lines.push_back(std::move(line));
  }
}

// Deletes rows whose run, attempt or series could not be read.
void delete_orphans(Database& database, std::vector<std::string>& lines) {
  const auto of_runs =
      texts(database,
            "SELECT m.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
            "WHERE m.type = 'table' AND c.name = 'run_id' AND m.name <> 'runs'",
            0);
  int64_t deleted = 0;
  for (const std::string& table : of_runs) {
    const int64_t rows =
        database.run(cat("DELETE FROM ", table, " WHERE run_id NOT IN (SELECT run_id FROM runs)"));
    if (table != "sources") deleted += rows;  // its code is not counted as its history
  }
  deleted += database.run(
      "DELETE FROM workers WHERE (run_id, attempt) NOT IN (SELECT run_id, attempt FROM attempts)");
  deleted += database.run(
      "DELETE FROM series_chunks WHERE series_id NOT IN (SELECT series_id FROM series)");
  deleted += database.run(
      "DELETE FROM series_summaries WHERE series_id NOT IN (SELECT series_id FROM series)");
  if (deleted > 0) lines.push_back(cat(deleted, " rows of runs that are lost deleted"));
}

bool has_row(Database& database, const std::string& sql, const std::string& run_id,
             const std::string& name) {
  return database.prepare(sql).add(run_id).add(name).next();
}

// Enters the content of a manifest that the tables lack. Returns true if the checkpoint is new.
bool enter(Database& database, const std::string& run, const Manifest& manifest,
           std::vector<std::string>& lines) {
  const int64_t time = manifest.created_at_ms;
  const int64_t new_runs = database.run(
      "INSERT OR IGNORE INTO runs(run_id, name, status, num_workers, script, note, command, tags, "
      "config, scaling, checkpoint_config, environment, started_at, updated_at, owner_epoch) "
      "VALUES(?, ?, 'RUNNING', 1, '', 'brought back by rtrain gc --rebuild', '[]', '[]', '{}', "
      "'{}', "
      "'{}', '{}', ?, ?, ?)",
      manifest.run_id, run, time, time, manifest.owner_epoch);
  if (new_runs > 0) lines.push_back(cat("run ", run, ": brought back"));
  database.run(
      "UPDATE runs SET owner_epoch = max(owner_epoch, ?), started_at = min(started_at, ?), "
      "updated_at = max(updated_at, ?) WHERE run_id = ?",
      manifest.owner_epoch, time, time, manifest.run_id);
  database.run(
      "INSERT OR IGNORE INTO attempts(run_id, attempt, nonce, status, started_at, ended_at) "
      "VALUES(?, ?, '', 'LOST', ?, ?)",
      manifest.run_id, manifest.attempt, time, time);
  const StoredMetrics metrics = store_metrics(manifest.metrics);
  database.run(
      "INSERT OR IGNORE INTO reports(run_id, attempt, idx, rank, time, metrics, nonfinite) "
      "VALUES(?, ?, ?, 0, ?, ?, ?)",
      manifest.run_id, manifest.attempt, manifest.index, time, metrics.json, metrics.nonfinite);
  if (has_row(database, "SELECT 1 FROM checkpoints WHERE run_id = ? AND name = ?", manifest.run_id,
              manifest.name)) {
    return false;
  }
  database.run(
      "INSERT INTO checkpoints(run_id, name, attempt, idx, metrics, nonfinite, size_bytes, "
      "created_at, state) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 'kept')",
      manifest.run_id, manifest.name, manifest.attempt, manifest.index, metrics.json,
      metrics.nonfinite, manifest.size_bytes(), time);
  return true;
}

void enter_checkpoints(Database& database, const std::string& storage_path,
                       std::vector<std::string>& lines) {
  for (const std::string& run : folder_entries(storage_path)) {
    const std::string folder = cat(storage_path, "/", run, "/checkpoints");
    if (path_kind(folder) != "folder") continue;
    int64_t entered = 0;
    for (const std::string& name : folder_entries(folder)) {
      try {
        if (enter(database, run, CheckpointFiles::verify(cat(folder, "/", name)), lines)) ++entered;
      } catch (const Error& e) {
        lines.push_back(cat("left alone ", folder, "/", name, ": ", e.message()));
      }
    }
    if (entered > 0) lines.push_back(cat("run ", run, ": ", entered, " checkpoints brought back"));
  }
}

void check_nothing_is_live(const std::string& storage_path) {
  for (const std::string& run : folder_entries(storage_path)) {
    const std::string path = cat(storage_path, "/", run);
    if (path_kind(path) != "folder" || !RunLock::is_held(path)) continue;
    throw Error(Code::kEnvironment,
                cat("the run '", run, "' is being run by ", RunLock::owner(path).to_text(),
                    ": a store is repaired while no run is live"));
  }
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
    throw file_error("rename", from);
  }
}

// Moves the damaged file and its journal files away.
void replace(const std::string& path, const std::string& fresh, std::vector<std::string>& lines) {
  const std::string old = cat(path, ".damaged-", now_ms());
  lines.push_back(cat("the damaged file is ", old));
  for (const char* part : {"", "-wal", "-shm", "-journal"}) rename_file(path + part, old + part);
  rename_file(fresh, path);
  sync_folder(fs::path(path).parent_path());
}

}  // namespace

std::vector<std::string> repair_store(const std::string& storage_path) {
  if (path_kind(storage_path) != "folder") {
    throw Error(Code::kEnvironment, cat("there is no folder ", storage_path));
  }
  check_nothing_is_live(storage_path);
  const std::string path = storage_path + "/rtrain.db";
  const std::string fresh = cat(path, ".new-", random_hex(6));
  const bool sound = is_sound(path);
  std::vector<std::string> lines;
  {
    Database database = Database::open(sound ? path : fresh);
    database.execute("PRAGMA foreign_keys=OFF");
    Transaction transaction(database, Durability::kFull);
    if (!sound) copy_tables(path, database, lines);
    // Checkpoints first: the other rows of a run that they restore are then kept.
    enter_checkpoints(database, storage_path, lines);
    delete_orphans(database, lines);
    transaction.commit();
    for (std::string& line : enter_run_ends(database, storage_path)) {
      lines.push_back(std::move(line));
    }
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  if (!sound) replace(path, fresh, lines);
  if (lines.empty()) lines.push_back(cat("the store ", path, " is sound: nothing to repair"));
  return lines;
}

}  // namespace rtrain::store
