#include "host/store/user_statement.h"

#include <sqlite3.h>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

// Of SQLite's virtual machine, between two looks at the clock: below a millisecond.
constexpr int kSteps = 10'000;

}  // namespace

Statement user_statement(Database& database, const std::string& sql, const std::string& what) {
  try {
    Statement statement = database.prepare(sql);
    statement.blame_user(what);
    if (statement.is_read_only()) return statement;
  } catch (const Error& e) {
    if (e.code() != Code::kInternal) throw;
    const int code = sqlite3_errcode(database.handle());
    if (code == SQLITE_OK) throw Error(Code::kUsage, cat(what, ": ", e.message()));
    if (code != SQLITE_AUTH) {
      throw Error(Code::kUsage,
                  cat(what, ": ", std::string_view(sqlite3_errmsg(database.handle()))));
    }
  }
  throw Error(Code::kUsage, cat(what, ": nothing but reading is allowed"));
}

TimeLimit::TimeLimit(Database& database, double seconds)
    : database_(database), end_s_(monotonic_s() + seconds) {
  if (seconds > 0) sqlite3_progress_handler(database.handle(), kSteps, &on_progress, this);
}

TimeLimit::~TimeLimit() { sqlite3_progress_handler(database_.handle(), 0, nullptr, nullptr); }

int TimeLimit::on_progress(void* limit) {
  return monotonic_s() > static_cast<const TimeLimit*>(limit)->end_s_ ? 1 : 0;
}

}  // namespace rtrain
