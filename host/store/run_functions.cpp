#include "host/store/run_functions.h"

#include <sqlite3.h>

#include <string_view>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/store/run_lock.h"
#include "host/store/run_status.h"

namespace rtrain {
namespace {

void sql_run_is_live(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* storage = static_cast<const std::string*>(sqlite3_user_data(context));
  const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  bool live = false;
  try {
    live = name != nullptr && RunLock::is_held(cat(*storage, "/", std::string_view(name)));
  } catch (const Error&) {
    live = true;  // a lock that cannot be looked at proves nothing
  }
  sqlite3_result_int(context, live ? 1 : 0);
}

void sql_is_final(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* status = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  sqlite3_result_int(context, status != nullptr && is_final_status(status) ? 1 : 0);
}

void sql_now_ms(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int64(context, now_ms());
}

}  // namespace

void add_run_functions(Database& database, const std::string& storage_path) {
  auto* storage = const_cast<std::string*>(&storage_path);
  const auto add = [&](const char* name, int num_arguments, auto* function) {
    sqlite3_create_function_v2(database.handle(), name, num_arguments, SQLITE_UTF8, storage,
                               function, nullptr, nullptr, nullptr);
  };
  add("run_is_live", 1, &sql_run_is_live);
  add("is_final", 1, &sql_is_final);
  add("now_ms", 0, &sql_now_ms);
}

}  // namespace rtrain
