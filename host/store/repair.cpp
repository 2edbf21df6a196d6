#include "host/store/repair.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/store/checkpoint_files.h"
#include "host/store/database.h"
#include "host/store/file.h"
#include "host/store/run_lock.h"
#include "host/store/stored_metrics.h"

namespace rtrain {
namespace {

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

// Copies the rows of one table that can still be read.
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

  // One line about it; empty when there was nothing.
  std::string run() {
    if (columns_.empty()) return cat(table_, ": nothing could be read");
    bool complete = copy("");
    // From the other end comes what lies behind the damage.
    if (!complete) copy(cat(" ORDER BY ", key(), " DESC"));
    if (complete && copied_ == 0) return {};
    return cat(table_, ": ", copied_, complete ? " rows" : " rows saved, others are damaged");
  }

 private:
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
      insert.reset();  // a cell that breaks the table's rules is damage too
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
      default: {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
        const auto size = static_cast<size_t>(sqlite3_column_bytes(row, column));
        insert.add(std::string_view(bytes == nullptr ? "" : bytes, size));
      }
    }
  }

  sqlite3* from_;
  Database& to_;
  std::string table_;
  std::vector<std::string> columns_;
  int64_t copied_ = 0;
};

void copy_tables(const std::string& path, Database& to, std::vector<std::string>& lines) {
  sqlite3* handle = nullptr;
  // For writing: what is in the journal belongs to the file.
  sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  const Damaged from(handle);
  const auto tables = texts(
      to, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", 0);
  for (const std::string& table : tables) {
    std::string line = TableCopy(from.get(), to, table).run();
    if (!line.empty()) lines.push_back(std::move(line));
  }
}

// Rows whose run could not be read belong to nothing.
void delete_orphans(Database& database) {
  for (const char* table : {"attempts", "workers", "reports", "checkpoints", "events"}) {
    database.run(cat("DELETE FROM ", table, " WHERE run_id NOT IN (SELECT run_id FROM runs)"));
  }
}

bool has_row(Database& database, const std::string& sql, const std::string& run_id,
             const std::string& name) {
  return database.prepare(sql).add(run_id).add(name).next();
}

// Enters what one manifest says where the tables do not know it. True when the checkpoint is new.
bool enter(Database& database, const std::string& run, const Manifest& manifest) {
  const int64_t time = manifest.created_at_ms;
  database.run(
      "INSERT OR IGNORE INTO runs(run_id, name, status, num_workers, script, note, command, tags, "
      "config, scaling, checkpoint_config, environment, started_at, updated_at, owner_epoch) "
      "VALUES(?, ?, 'RUNNING', 1, '', 'brought back by rtrain repair', '[]', '[]', '{}', '{}', "
      "'{}', '{}', ?, ?, ?)",
      manifest.run_id, run, time, time, manifest.owner_epoch);
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
        if (enter(database, run, CheckpointFiles::verify(cat(folder, "/", name)))) ++entered;
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

}  // namespace

std::vector<std::string> repair_store(const std::string& storage_path) {
  if (path_kind(storage_path) != "folder") {
    throw Error(Code::kEnvironment, cat("there is no folder ", storage_path));
  }
  check_nothing_is_live(storage_path);
  const std::string path = storage_path + "/rtrain.db";
  const std::string fresh = cat(storage_path, "/rtrain.db.new-", random_hex(6));
  const std::string old = cat(storage_path, "/rtrain.db.damaged-", now_ms());
  std::vector<std::string> lines;
  {
    Database database = Database::open(fresh);
    database.execute("PRAGMA foreign_keys=OFF");
    Transaction transaction(database, Durability::kFull);
    if (path_exists(path)) copy_tables(path, database, lines);
    delete_orphans(database);
    enter_checkpoints(database, storage_path, lines);
    transaction.commit();
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  constexpr std::array kParts = {"", "-wal", "-shm"};
  if (path_exists(path)) lines.push_back(cat("the damaged file is ", old));
  for (const char* part : kParts) rename_file(path + part, old + part);
  rename_file(fresh, path);
  sync_folder(storage_path);
  return lines;
}

}  // namespace rtrain
