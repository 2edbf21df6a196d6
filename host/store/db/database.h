// host/store/db/database.h: one SQLite file: connection and transactions.
//
// A Database and its statements belong to one thread. On local disks it uses WAL, on network file
// systems a rollback journal (WAL needs memory shared by all users). Every transaction is BEGIN
// IMMEDIATE: one that reads first and writes later can starve behind other writers. Errors:
// kEnvironment with the path and SQLite's reason (unwritable, full, locked, damaged), kInternal for
// the rest. StorageError::may_pass is true for a full disk, another program's lock and a failed
// write.
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

namespace rtrain::store {

// kFull: on the disk when commit() returns. kNormal: survives the end of the process, but a power
// failure may lose the last transactions.
enum class Durability { kNormal, kFull };

// Wide, because it also says how the file fares: its lock, its copy, its place.
class Database {
 public:
  using OnLocked = LockWait::OnLocked;
  // Opens or creates the file for writing, with the permissions of host/base/files/store_access.h,
  // and migrates its schema. Afterwards every statement waits up to store_patience() for another
  // program's lock.
  static Database open(const std::string& path, OnLocked on_locked = {});
  // Opens for reading; nullopt if the file does not exist. In a folder that cannot be written it
  // reads a private copy if a killed writer has left a journal.
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

  // Reads the whole file. Throws kEnvironment if pages are damaged.
  void check();

  // Returns false if the path or its log now names another file, or none: then later writes would
  // be lost. Throws kEnvironment if the file was truncated. Inside a transaction the answer stays
  // valid for other programs that check it too.
  bool is_in_place();
  // Call it inside a transaction if is_in_place() is false: writes a copy of the open database to
  // the path, unless another controller has.
  void write_copy();
  // Closes the file and opens the one at the path. Throws as open().
  void reopen();

  // Allows only reads from now on, for expressions written by users.
  void allow_reads_only();

  const std::string& path() const { return path_; }
  // Whether the file is on NFS, SMB, Lustre, GPFS, Ceph, 9p or FUSE.
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
  FileIdentity log_;                     // the log when it was last seen in place
  int64_t size_bytes_ = 0;               // the file's size at that time
  std::unique_ptr<LockWait> lock_wait_;  // SQLite keeps its address
  mutable bool sync_failed_ = false;     // earlier writes may be lost
  friend class Transaction;
  void write_again();
};

// The destructor rolls back unless commit() was called.
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

}  // namespace rtrain::store
