// host/store/db/statement.h: a prepared SQL statement: parameters in, rows out.
//
// Belongs to the thread of the Database (host/store/db/database.h) that prepares it and must
// outlive it. Throws Database::error for SQLite's errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3_stmt;

namespace rtrain::store {

class Database;

// Bytes, bound as BLOB instead of TEXT.
struct Blob {
  std::string_view bytes;
};

// Wide, because each type of a value has a method to bind it and one to read it.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  ~Statement();

  // Binds the next parameters, in order.
  Statement& add(int64_t value);
  Statement& add(int value) { return add(int64_t{value}); }
  Statement& add(double value);
  Statement& add(std::string_view value);
  Statement& add(Blob value);
  Statement& add(const char* value) { return add(std::string_view(value)); }
  Statement& add(const std::string& value) { return add(std::string_view(value)); }
  Statement& add(std::nullptr_t);
  template <class T>
  Statement& add(const std::optional<T>& value) {
    return value ? add(*value) : add(nullptr);
  }

  // Steps to the next row; false at the end.
  bool next();
  // Runs to the end and resets for new parameters.
  void run();
  void reset();
  // For SQL written by a user: later errors of the SQL itself, such as a number that is too large,
  // are Error(kUsage) with a message that begins with `what`.
  void blame_user(std::string what) { what_ = std::move(what); }

  // Returns false for a statement that could change the file.
  bool is_read_only() const;
  int columns() const;
  std::string column_name(int column) const;
  bool is_null(int column) const;
  // One of SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB, SQLITE_NULL.
  int type(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // empty for NULL
  // The same without a copy, valid until the next row.
  std::string_view text_view(int column) const;
  std::string blob(int column) const;
  std::optional<int64_t> optional_integer(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}
  Database* database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
  std::string what_;  // empty for rtrain's own SQL
};

}  // namespace rtrain::store
