#include "host/store/read/run_functions.h"

#include <sqlite3.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/codec/json_scan.h"
#include "host/base/codec/metric_path.h"
#include "host/base/error.h"
#include "host/base/files/inner_file.h"
#include "host/base/text/text.h"
#include "host/store/claim/run_end.h"
#include "host/store/claim/run_lock.h"
#include "host/store/claim/run_status.h"

namespace rtrain::store {
namespace {

void sql_run_is_live(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* storage = static_cast<const std::string*>(sqlite3_user_data(context));
  const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  bool live = false;
  try {
    live = name != nullptr && is_inner_name(name) &&
           RunLock::is_held(cat(*storage, "/", std::string_view(name)));
  } catch (const Error&) {
    live = true;  // if the lock cannot be read, the run counts as live
  }
  sqlite3_result_int(context, live ? 1 : 0);
}

void sql_is_final(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* status = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  sqlite3_result_int(context, status != nullptr && is_final_status(status) ? 1 : 0);
}

std::string_view text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}

void set_text(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// (name, run_id): the status of a run without owner and without an end in the store.
void sql_lost_status(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* storage = static_cast<const std::string*>(sqlite3_user_data(context));
  const std::string_view name = text_of(values[0]);
  std::optional<std::string> status;
  try {
    if (is_inner_name(name)) status = run_end_status(cat(*storage, "/", name), text_of(values[1]));
  } catch (const Error&) {
    // A file that cannot be read is ignored.
  }
  set_text(context, status.value_or("LOST"));
}

void sql_now_ms(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int64(context, now_ms());
}

void set_number(sqlite3_context* context, std::string_view text) {
  int64_t integer = 0;
  const auto whole = std::from_chars(text.begin(), text.end(), integer);
  if (whole.ec == std::errc() && whole.ptr == text.end()) {
    return sqlite3_result_int64(context, integer);
  }
  // strtod, because from_chars gives no value for numbers out of range.
  sqlite3_result_double(context, std::strtod(std::string(text).c_str(), nullptr));
}

// Sets the result that json_extract gives for the value.
void set_json(sqlite3_context* context, std::string_view json) {
  if (json.empty()) return sqlite3_result_null(context);
  switch (json.front()) {
    case '"':
      return set_text(context, from_json(json).as_string());
    case '{':
    case '[':
      return set_text(context, json);
    case 'n':
      return sqlite3_result_null(context);
    case 't':
    case 'f':
      return sqlite3_result_int(context, json.front() == 't' ? 1 : 0);
    default:
      return set_number(context, json);
  }
}

void sql_config_value(sqlite3_context* context, int count, sqlite3_value** values) {
  std::vector<std::string> keys;
  for (int i = 1; i < count; ++i) keys.emplace_back(text_of(values[i]));
  try {
    if (const auto found = find_in_json(text_of(values[0]), keys)) set_json(context, *found);
  } catch (const Error& e) {
    sqlite3_result_error(context, e.what(), -1);
  }
}

void sql_metric_value(sqlite3_context* context, int, sqlite3_value** values) {
  try {
    const auto found = find_metric_text(text_of(values[0]), text_of(values[1]));
    if (found) set_json(context, *found);
  } catch (const Error& e) {
    sqlite3_result_error(context, e.what(), -1);
  }
}

struct ExtremesSource {
  Database& database;
  std::shared_ptr<MetricExtremes> extremes;
};

// (run_id, updated_at, metric, which): min, max or last.
void sql_metric_extreme(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* source = static_cast<const ExtremesSource*>(sqlite3_user_data(context));
  try {
    const Extremes found =
        source->extremes->of(source->database, std::string(text_of(values[0])),
                             sqlite3_value_int64(values[1]), std::string(text_of(values[2])));
    const std::string_view which = text_of(values[3]);
    const auto& value = which == "min" ? found.least : which == "max" ? found.most : found.last;
    if (value) sqlite3_result_double(context, *value);
  } catch (const Error& e) {
    sqlite3_result_error(context, e.what(), -1);
  }
}

}  // namespace

void add_run_functions(Database& database, const std::string& storage_path,
                       std::shared_ptr<MetricExtremes> extremes) {
  auto* storage = const_cast<std::string*>(&storage_path);
  const auto add = [&](const char* name, int num_arguments, auto* function) {
    sqlite3_create_function_v2(database.handle(), name, num_arguments, SQLITE_UTF8, storage,
                               function, nullptr, nullptr, nullptr);
  };
  add("run_is_live", 1, &sql_run_is_live);
  add("is_final", 1, &sql_is_final);
  add("lost_status", 2, &sql_lost_status);
  add("now_ms", 0, &sql_now_ms);
  add("config_value", -1, &sql_config_value);
  add("metric_value", 2, &sql_metric_value);
  // SQLite calls the last function when it closes the database.
  sqlite3_create_function_v2(database.handle(), "metric_extreme", 4, SQLITE_UTF8,
                             new ExtremesSource{database, std::move(extremes)}, &sql_metric_extreme,
                             nullptr, nullptr,
                             [](void* source) { delete static_cast<ExtremesSource*>(source); });
}

}  // namespace rtrain::store
