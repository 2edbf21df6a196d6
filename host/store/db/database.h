// host/store/db/database.h: one SQLite file: connection and transactions.
//
// A Database and its statements belong to one thread. Local disks use WAL, network file systems a
// rollback journal (WAL needs memory shared by all users). Every transaction is BEGIN IMMEDIATE:
// one that reads first and writes later can starve for ever behind another writer. Errors:
// kEnvironment with the path and SQLite's reason (unwritable, full, locked, damaged), kInternal for
// the rest. A full disk, another program's lock and a write that failed may pass
// (StorageError::may_pass).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/store/db/statement.h"
#include "host/store/files/file.h"
#include "host/store/files/lock_wait.h"

struct sqlite3;

namespace rtrain {

// kFull: on the disk when commit() returns. kNormal: survives the process, a power cut may take the
// last ones.
enum class Durability { kNormal, kFull };

class Database {
 public:
  using OnLocked = LockWait::OnLocked;
  // Opens or creates the file for writing, with the permissions of host/base/files/store_access.h,
  // and brings its schema up to date. From here on every statement waits for another program's lock
  // for as long as store_patience().
  static Database open(const std::string& path, OnLocked on_locked = {});
  // Opens for reading; nothing when the file does not exist. In a folder that cannot be written it
  // reads a private copy where a writer that was killed has left a journal.
  static std::optional<Database> open_read_only(const std::string& path);

  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  Statement prepare(std::string_view sql);
  // Runs one statement with the parameters; returns the number of rows it changed.
  template <class... Args>
  int64_t run(std::string_view sql, const Args&... args) {
    Statement statement = prepare(sql);
    (statement.add(args), ...);
    statement.run();
    return changes();
  }
  // Runs a script of statements without parameters.
  void execute(const std::string& script);
  int64_t changes() const;

  // Throws kEnvironment when pages of the file are damaged. Reads all of it.
  void check();

  // False when the path names another file, or none, or when the log next to it does: what is
  // written here would be found nowhere. Throws kEnvironment when the file was cut short. Within a
  // transaction the answer stays true for whoever goes by it too.
  bool is_in_place();
  // Within a transaction, where is_in_place() is false: puts a copy of what is open here at the
  // path, unless another controller has.
  void write_copy();
  // Closes the file and opens the one at the path. Throws as open().
  void reopen();

  // From now on refuses everything but reading: for expressions that a user wrote.
  void allow_reads_only();

  const std::string& path() const { return path_; }
  // True where the file lies on NFS, SMB, Lustre, GPFS, Ceph, 9p or FUSE.
  bool on_network() const { return on_network_; }
  // The error of the last call, as Error.
  StorageError error(int result) const;
  void set_on_locked(OnLocked on_locked);
  sqlite3* handle() const { return handle_; }

 private:
  Database(sqlite3* handle, std::string path);
  static Database connect(const std::string& path, const std::string& name, int flags);
  static Database connect_copy(const std::string& path);
  void set_journal_mode();
  sqlite3* handle_;
  std::string path_;
  Error damaged(std::string_view finding) const;
  Error describe(int result) const;
  bool on_network_ = false;
  FileIdentity log_;                     // next to the file, when it was last seen in place
  int64_t size_bytes_ = 0;               // the file's then
  std::unique_ptr<LockWait> lock_wait_;  // SQLite has its address
  mutable bool sync_failed_ = false;     // what was written before may be lost
  friend class Transaction;
  void write_again();
};

// Rolls back when it is destroyed without commit().
class Transaction {
 public:
  Transaction(Database& database, Durability durability);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace rtrain
