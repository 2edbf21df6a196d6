// host/store/read/user_statement.h: SQL that a user wrote.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/store/db/database.h"

namespace rtrain {

// The columns that a user may name, for "did you mean".
using ColumnNames = std::function<std::vector<std::string>()>;

// A statement that only reads. Throws Error(kUsage) for any other, and for mistakes in it; `what`
// begins the message, and the name that may be meant ends it. Without `columns` those of the tables
// that the statement names are meant.
Statement user_statement(Database& database, const std::string& sql, const std::string& what,
                         const ColumnNames& columns = {});

// What a user's statement may take as long as this is there; one that takes more ends with
// Error(kUsage). SQLite looks at the clock between steps of its machine, and a step may work on a
// whole value: values are bounded so that each step is short. The memory of all of the process's
// statements together is bounded too: for good, and by the least that was asked for.
class UserLimits {
 public:
  // Somebody else's statement, in a server: `seconds`, values of 2 MiB (a report has at most one),
  // 256 MiB in all. 0: one's own, without an end, with values of 256 MiB, 1 GiB in all.
  UserLimits(Database& database, double seconds);
  ~UserLimits();
  UserLimits(const UserLimits&) = delete;
  UserLimits& operator=(const UserLimits&) = delete;

 private:
  static int on_progress(void* limits);

  Database& database_;
  double end_s_;
  int value_bytes_;  // the limit before
  int pattern_bytes_;
};

}  // namespace rtrain
