// host/store/foreign/sqlite_query.h: a query on an SQLite file of the user, as batches of columns.
//
// Opens the file for reading only; a thread's query has a connection of its own. Rows come in the
// order in which SQLite returns them. Errors: kNotFound without a file, kEnvironment where it
// cannot be opened or is locked by another program, else kArgument with the file and the row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/api/arrow_batch.h"
#include "host/base/value.h"
#include "host/store/foreign/value_column.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rtrain::store {

class SqliteQuery {
 public:
  // `parameters`: nil, a List for the places of ?, or a Map for :name, @name and $name; an empty
  // Map as a value stands for NULL. Throws for anything but one statement that only reads.
  SqliteQuery(std::string path, const std::string& sql, const Value& parameters);
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // A List of {name, type}: int64, float64, string or binary, by the values of the first 1000 rows;
  // where these are null by the declared type, else null. Before a row is read.
  Value columns();
  // Sets the types that columns() has returned, a List of strings.
  void set_types(const Value& types);

  // Passes over rows; returns how many there were: fewer than `count` only at the end.
  int64_t skip(int64_t count);
  // The next rows; null at the end. A batch ends with the row that reaches one of the limits.
  std::shared_ptr<api::ArrowBatch> next(int64_t max_rows, int64_t max_bytes);

 private:
  using Type = ValueColumn::Type;

  void connect();
  void open(const std::string& name, int flags);
  void prepare(const std::string& sql);
  void bind(const Value& parameters);
  void bind_one(int place, const Value& value);
  bool step();
  std::vector<Type> sample();
  Type sampled_type(int column, unsigned kinds) const;
  void read_value(int place);
  std::string column_name(int column) const;
  std::string tables_like(std::string_view message) const;
  [[noreturn]] void fail(int result) const;
  [[noreturn]] void refuse(std::string_view detail) const;

  std::string path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<ValueColumn> columns_;  // empty before the types are known
  int64_t row_ = 0;                   // the next one
  bool is_over_ = false;
};

}  // namespace rtrain::store
