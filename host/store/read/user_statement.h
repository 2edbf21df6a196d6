// host/store/read/user_statement.h: SQL statements written by users.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

// Lists the columns that a user may name, for "did you mean".
using ColumnNames = std::function<std::vector<std::string>()>;

// Prepares a statement that only reads. Throws Error(kUsage) for any other statement and for
// mistakes; the message begins with `what` and ends with a suggestion. Without `columns` suggests
// columns of the tables that the statement names.
Statement user_statement(Database& database, const std::string& sql, const std::string& what,
                         const ColumnNames& columns = {});

// Limits users' statements while it exists; one that exceeds them ends with Error(kUsage). SQLite
// checks the time between steps of its virtual machine, and a step may process a whole value, so
// the size of values is limited too. The memory limit covers all statements of the process; it
// stays in force, and the smallest one requested applies.
class UserLimits {
 public:
  // For a server, with statements of other users: `seconds` as time limit, values of at most 2 MiB
  // (a report has at most one), 256 MiB in all, no printf and no format. With 0, for the user's own
  // statements: no time limit, values of 256 MiB, 1 GiB in all.
  UserLimits(Database& database, double seconds);
  ~UserLimits();
  UserLimits(const UserLimits&) = delete;
  UserLimits& operator=(const UserLimits&) = delete;

 private:
  static int on_progress(void* limits);

  Database& database_;
  double end_s_;
  int value_bytes_;  // the limit to restore
  int pattern_bytes_;
};

struct QueryAnswer {
  std::vector<std::string> columns;
  std::vector<List> rows;  // with a value for each column
};

// Runs the user's own query, which may only read. Throws as user_statement.
QueryAnswer answer_query(Database& database, const std::string& sql);

}  // namespace rtrain::store
