// host/store/db/statement.h: a prepared SQL statement: parameters in, rows out.
//
// Belongs to the thread of its Database (host/store/db/database.h), which makes it and which
// outlives it. Throws what Database::error makes of SQLite's result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3_stmt;

namespace rtrain {

class Database;

// Bytes that are not text.
struct Blob {
  std::string_view bytes;
};

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
  // Runs to the end, then is ready for new parameters.
  void run();
  void reset();
  // From now on an error of the SQL itself, such as a number that is too large, is Error(kUsage)
  // with a message that begins with `what`: a user wrote it.
  void blame_user(std::string what) { what_ = std::move(what); }

  // False for a statement that could change the file.
  bool is_read_only() const;
  int columns() const;
  std::string column_name(int column) const;
  bool is_null(int column) const;
  // One of SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB, SQLITE_NULL.
  int type(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // empty for NULL
  // The same without a copy: until the next row.
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
  std::string what_;  // empty: rtrain's own SQL
};

}  // namespace rtrain
