// host/store/user_statement.h: SQL that a user wrote.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/store/database.h"

namespace rtrain {

// The columns that a user may name, for "did you mean".
using ColumnNames = std::function<std::vector<std::string>()>;

// A statement that only reads. Throws Error(kUsage) for any other, and for mistakes in it; `what`
// begins the message, and the name that may be meant ends it. Without `columns` those of the tables
// that the statement names are meant.
Statement user_statement(Database& database, const std::string& sql, const std::string& what,
                         const ColumnNames& columns = {});

// As long as it is there, a user's statement that runs when `seconds` are over ends with
// Error(kUsage).
class TimeLimit {
 public:
  // 0: no limit.
  TimeLimit(Database& database, double seconds);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  static int on_progress(void* limit);

  Database& database_;
  double end_s_;
};

}  // namespace rtrain
