#include "host/store/db/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/files/store_access.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/machine/processes/process_limits.h"
#include "host/store/db/schema.h"
#include "host/store/files/file.h"
#include "host/store/files/folder_copy.h"
#include "host/store/files/network_path.h"
#include "host/store/files/patience.h"
#include "host/store/files/write_refusal.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

// Suffixes of SQLite's files with changes that are not yet in the database, or with its old pages.
constexpr const char* kLogSuffix = "-wal";
constexpr const char* kJournalSuffix = "-journal";

// A controller checks files up to this size whenever it opens them, which takes a few milliseconds.
constexpr int64_t kCheckedBytes = 8 << 20;

bool is_damage(int result) {
  return (result & 0xff) == SQLITE_CORRUPT || (result & 0xff) == SQLITE_NOTADB;
}

bool is_environment(int result) {
  constexpr std::array kResults = {SQLITE_BUSY,     SQLITE_LOCKED,   SQLITE_FULL,
                                   SQLITE_IOERR,    SQLITE_CANTOPEN, SQLITE_PERM,
                                   SQLITE_READONLY, SQLITE_NOLFS,    SQLITE_PROTOCOL};
  return std::find(kResults.begin(), kResults.end(), result & 0xff) != kResults.end();
}

// Why the store cannot be written, if that explains SQLite's result: SQLite's own text would say
// that the file does not exist.
std::string refusal_of(int kind, const std::string& path) {
  if (kind != SQLITE_CANTOPEN && kind != SQLITE_READONLY) return "";
  const std::string refusal = write_refusal(path);
  return refusal.empty() ? write_refusal(std::filesystem::path(path).parent_path()) : refusal;
}

int authorize_read(void*, int action, const char*, const char* argument, const char*, const char*) {
  // Not refused: table functions such as json_each, which declare a table of their own. query_only
  // refuses all writes.
  constexpr std::array kRefused = {SQLITE_ATTACH, SQLITE_DETACH, SQLITE_TRANSACTION,
                                   SQLITE_SAVEPOINT};
  const bool sets_pragma = action == SQLITE_PRAGMA && argument != nullptr;
  const bool refused = std::find(kRefused.begin(), kRefused.end(), action) != kRefused.end();
  return sets_pragma || refused ? SQLITE_DENY : SQLITE_OK;
}

std::string uri(const std::string& path, std::string_view options) {
  std::string out = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      out += c == '?' ? "%3f" : c == '#' ? "%23" : "%25";
    } else {
      out += c;
    }
  }
  return cat(out, options);
}

bool has_journal(const std::string& path) {
  std::error_code missing;
  const auto has_bytes = [&](const char* suffix) {
    const auto size = fs::file_size(path + suffix, missing);
    return !missing && size > 0;
  };
  return has_bytes(kLogSuffix) || has_bytes(kJournalSuffix);
}

}  // namespace

Database::Database(sqlite3* handle, std::string path)
    : handle_(handle), path_(std::move(path)), lock_wait_(std::make_unique<LockWait>(path_)) {}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      path_(std::move(other.path_)),
      on_network_(other.on_network_),
      log_(other.log_),
      size_bytes_(other.size_bytes_),
      lock_wait_(std::move(other.lock_wait_)),
      sync_failed_(other.sync_failed_) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  on_network_ = other.on_network_;
  log_ = other.log_;
  size_bytes_ = other.size_bytes_;
  std::swap(lock_wait_, other.lock_wait_);
  sync_failed_ = other.sync_failed_;
  return *this;
}

Database::~Database() { sqlite3_close_v2(handle_); }

Database Database::connect(const std::string& path, const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle, path);
  if (result != SQLITE_OK) throw database.error(result);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_handler(handle, &LockWait::on_busy, database.lock_wait_.get());
  return database;
}

namespace {

// Sets the permissions of the database and of the files next to it, which SQLite creates with the
// same ones. Does not open an existing database: closing it would release this process's locks.
void give_store_access(const std::string& path) {
  const int made = open_in_store(path, O_RDWR | O_CREAT | O_EXCL);
  if (made >= 0) ::close(made);
  for (const char* part : {"", kLogSuffix, "-shm", kJournalSuffix}) set_store_access(path + part);
}

}  // namespace

Database Database::open(const std::string& path, OnLocked on_locked) {
  give_store_access(path);
  Database database = connect(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  database.lock_wait_->set_limit_s(std::chrono::duration<double>(store_patience()).count());
  database.set_on_locked(std::move(on_locked));
  check_is_store(database);  // before the first write
  database.on_network_ = is_network_path(path);
  database.set_journal_mode();
  database.execute("PRAGMA foreign_keys=ON");
  migrate(database);
  std::error_code gone;
  if (fs::file_size(path, gone) <= kCheckedBytes) database.check();
  return database;
}

// Retries, because SQLite does not call its busy handler when the mode changes while another
// connection writes, for example when two programs create the same store.
void Database::set_journal_mode() {
  const char* pragma = on_network_ ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL";
  const double since_s = monotonic_s();
  for (int calls = 0;; ++calls) {
    const int result = sqlite3_exec(handle_, pragma, nullptr, nullptr, nullptr);
    if (result == SQLITE_OK) return;
    const bool is_over = monotonic_s() - since_s >= lock_wait_->limit_s();
    if ((result & 0xff) != SQLITE_BUSY || is_over ||
        LockWait::on_busy(lock_wait_.get(), calls) == 0) {
      throw error(result);
    }
  }
}

void Database::check() {
  Statement statement = prepare("PRAGMA quick_check(1)");
  if (statement.next() && statement.text(0) != "ok") throw damaged(statement.text(0));
}

Error Database::damaged(std::string_view finding) const {
  const std::string folder = fs::path(path_).parent_path();
  return Error(
      Code::kEnvironment,
      cat("the store ", path_, " is damaged (", finding, "): `rtrain gc --rebuild --storage ",
          shell_word(folder), "` saves what can be read and brings back what the checkpoints say"));
}

bool Database::is_in_place() {
  int moved = 0;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  const FileIdentity log = FileIdentity::of(path_ + "-wal");
  if (moved != 0 || (log_ && log != log_)) return false;
  log_ = log;
  std::error_code gone;
  const auto size = static_cast<int64_t>(fs::file_size(path_, gone));
  if (gone) return false;
  // The file became smaller: another program may have run VACUUM, or the file was truncated. A new
  // connection checks it, because this one has cached pages.
  if (size < size_bytes_) connect(path_, path_, SQLITE_OPEN_READWRITE).check();
  size_bytes_ = size;
  return true;
}

void Database::write_copy() {
  const FileIdentity there = FileIdentity::of(path_);
  int moved = 0;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved != 0 && there) return;
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(handle_, "main", &size, 0), &sqlite3_free);
  if (!bytes) throw error(SQLITE_NOMEM);
  // These belong to the old file; SQLite would apply them to the new one.
  for (const char* part : {"-wal", "-shm"}) ::unlink((path_ + part).c_str());
  replace_text(path_, {reinterpret_cast<const char*>(bytes.get()), static_cast<size_t>(size)});
}

void Database::reopen() { *this = open(std::string(path_), lock_wait_->on_locked()); }

std::optional<Database> Database::open_read_only(const std::string& path) {
  if (!path_exists(path)) return std::nullopt;
  // A reader of a WAL file uses its shared memory file. So this opens for writing if permitted, and
  // the last connection to close cleans up. Otherwise reading needs a live writer. Without one the
  // file does not change and is opened as immutable, unless a killed writer has left its newest
  // part in a journal.
  const bool writable = ::access(path.c_str(), W_OK) == 0 &&
                        ::access(fs::path(path).parent_path().c_str(), W_OK) == 0;
  const auto readable = [](Database& database) {
    sqlite3_stmt* statement = nullptr;
    const char* query = "SELECT count(*) FROM sqlite_master";
    int result = sqlite3_prepare_v2(database.handle_, query, -1, &statement, nullptr);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return result == SQLITE_ROW;
  };
  if (writable) {
    Database database = connect(path, path, SQLITE_OPEN_READWRITE);
    database.execute("PRAGMA query_only=ON");
    if (readable(database)) return database;
  }
  {
    Database database = connect(path, path, SQLITE_OPEN_READONLY);
    if (readable(database)) return database;
  }
  Database database = has_journal(path) ? connect_copy(path)
                                        : connect(path, uri(path, "?immutable=1"),
                                                  SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  if (!readable(database)) throw database.error(sqlite3_errcode(database.handle_));
  return database;
}

// Opens a private copy and applies the journal to it. The copy's files are deleted at once; the
// connection keeps them open.
Database Database::connect_copy(const std::string& path) {
  struct Folder {
    ~Folder() { remove_tree(path); }
    std::string path = make_temp_folder("rtrain-store-");
  };
  const Folder folder;
  const std::string copy = folder.path + "/rtrain.db";
  for (const char* part : {"", kLogSuffix, kJournalSuffix}) {
    if (path_exists(path + part)) fs::copy_file(path + part, copy + part);
  }
  Database database = connect(copy, copy, SQLITE_OPEN_READWRITE);
  database.execute("PRAGMA journal_mode=DELETE");
  database.execute("PRAGMA query_only=ON");
  database.path_ = path;
  return database;
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  const char* rest = nullptr;
  const int result =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &handle, &rest);
  if (result != SQLITE_OK) throw error(result);
  Statement statement(*this, handle);
  const std::string_view tail = trim(sql.substr(static_cast<size_t>(rest - sql.data())));
  if (handle == nullptr || !tail.empty()) {
    throw Error(Code::kInternal, "one SQL statement is expected");
  }
  return statement;
}

void Database::execute(const std::string& script) {
  const int result = sqlite3_exec(handle_, script.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw error(result);
}

int64_t Database::changes() const { return sqlite3_changes64(handle_); }

void Database::allow_reads_only() {
  execute("PRAGMA query_only=ON");
  // Keeps temporary results in memory, which is bounded, instead of filling the disk.
  execute("PRAGMA temp_store=MEMORY");
  sqlite3_set_authorizer(handle_, &authorize_read, nullptr);
}

void Database::set_on_locked(OnLocked on_locked) {
  lock_wait_->set_on_locked(std::move(on_locked));
}

// After a failed sync the kernel has dropped pages that it could not write: a second sync would
// succeed without writing them. So the pages are copied from the log to the file again, and the
// file is synced.
void Database::write_again() {
  Statement checkpoint = prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!checkpoint.next()) throw error(SQLITE_IOERR_FSYNC);
  const bool was_busy = checkpoint.integer(0) != 0;
  const int64_t left = checkpoint.integer(1);
  if (was_busy || left > 0) throw error(SQLITE_BUSY);
  sync_failed_ = false;
}

StorageError Database::error(int result) const {
  const int kind = result & 0xff;
  const Error error = describe(result);
  return {error.code(), error.message(),
          kind == SQLITE_FULL || kind == SQLITE_BUSY || kind == SQLITE_IOERR};
}

Error Database::describe(int result) const {
  if (result == SQLITE_IOERR_FSYNC || result == SQLITE_IOERR_DIR_FSYNC) sync_failed_ = true;
  if ((result & 0xff) == SQLITE_BUSY) {
    if (!lock_wait_->is_of_use()) return no_locks_error(path_);
    return Error(Code::kEnvironment,
                 cat("the store ", path_, " has been locked by another process for ",
                     lock_wait_->limit_s(), " s"));
  }
  if (is_damage(result)) return damaged(sqlite3_errmsg(handle_));
  std::string reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  const int system_error = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  if (!is_environment(result)) return Error(Code::kInternal, cat("store ", path_, ": ", reason));
  const std::string refusal = refusal_of(result & 0xff, path_);
  if (!refusal.empty()) {
    return Error(Code::kEnvironment, cat("cannot use the store ", path_, ": ", refusal));
  }
  const bool of_system = (result & 0xff) == SQLITE_CANTOPEN || (result & 0xff) == SQLITE_IOERR;
  if (of_system && system_error != 0) {
    reason = cat(reason, " (", std::string_view(std::strerror(system_error)), ")");
  }
  if ((result & 0xff) == SQLITE_IOERR) reason += machine::file_size_limit_text();
  return Error(Code::kEnvironment, cat("cannot use the store ", path_, ": ", reason));
}

Transaction::Transaction(Database& database, Durability durability) : database_(database) {
  fault_point("db.begin");
  if (database_.sync_failed_) database_.write_again();
  // With WAL "normal" only syncs at checkpoints; with a rollback journal it syncs at every commit.
  database_.execute(durability == Durability::kFull ? "PRAGMA synchronous=FULL"
                                                    : "PRAGMA synchronous=NORMAL");
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  fault_point("db.commit");
  database_.execute("COMMIT");
  open_ = false;
  fault_point("db.committed");
}

}  // namespace rtrain::store
