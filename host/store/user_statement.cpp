#include "host/store/user_statement.h"

#include <sqlite3.h>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {

Statement user_statement(Database& database, const std::string& sql, const std::string& what) {
  try {
    Statement statement = database.prepare(sql);
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

}  // namespace rtrain
