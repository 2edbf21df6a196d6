#include "host/store/read/user_statement.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/db/row_values.h"
#include "host/store/read/listing_columns.h"
#include "host/store/read/sql_names.h"

namespace rtrain::store {
namespace {

// Steps of SQLite's virtual machine between two checks of the time. A step may process a whole
// value.
constexpr int kSteps = 100;

constexpr int kMiB = 1 << 20;
// The steps of LIKE and GLOB grow with the product of the sizes of text and pattern.
constexpr int kPatternBytes = 1000;

// SQLite 3.40 counts up to the width and precision of a format, a billion at most, and looks at no
// clock meanwhile.
constexpr std::array kUnbounded = {"printf", "format"};

void refuse_unbounded(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_error(context, "printf and format are for commands on this machine only", -1);
}

// Null: SQLite's own function again.
void set_unbounded(Database& database, void (*function)(sqlite3_context*, int, sqlite3_value**)) {
  for (const char* name : kUnbounded) {
    sqlite3_create_function(database.handle(), name, -1, SQLITE_UTF8, nullptr, function, nullptr,
                            nullptr);
  }
}

std::vector<std::string> tables_and_views(Database& database) {
  Statement query = database.prepare(
      "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' "
      "ORDER BY name");
  std::vector<std::string> out;
  while (query.next()) out.push_back(query.text(0));
  return out;
}

// Uses a query, because a reader may not use table_info.
void add_columns(Database& database, const std::string& table, std::vector<std::string>& out) {
  const Statement all = database.prepare(cat("SELECT * FROM ", in_quotes(table, '"')));
  for (int i = 0; i < all.columns(); ++i) {
    const std::string name = all.column_name(i);
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
}

// The columns of the tables that the statement names.
std::vector<std::string> columns_of_tables(Database& database, const std::string& sql) {
  const std::vector<SqlName> names = names_in_sql(sql);
  std::vector<std::string> out;
  for (const std::string& table : tables_and_views(database)) {
    const bool is_named = std::any_of(names.begin(), names.end(), [&](const SqlName& name) {
      return sqlite3_stricmp(name.name.c_str(), table.c_str()) == 0;
    });
    if (is_named) add_columns(database, table, out);
  }
  return out;
}

// The unknown name in SQLite's message, such as "no such table: rnus".
std::optional<std::string> unknown_in(std::string_view message, std::string_view begin) {
  if (!message.starts_with(begin)) return std::nullopt;
  return std::string(message.substr(begin.size()));
}

std::string without_table(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The suggestion to append to SQLite's message about an unknown name.
std::string meant(Database& database, const std::string& sql, const ColumnNames& columns,
                  std::string_view message) {
  if (const auto table = unknown_in(message, "no such table: ")) {
    return suggestion(without_table(*table), tables_and_views(database));
  }
  const auto column = unknown_in(message, "no such column: ");
  if (!column) return "";
  if (columns) return suggestion(*column, columns());
  return suggestion(without_table(*column), columns_of_tables(database, sql));
}

}  // namespace

Statement user_statement(Database& database, const std::string& sql, const std::string& what,
                         const ColumnNames& columns) {
  try {
    Statement statement = database.prepare(sql);
    statement.blame_user(what);
    if (statement.is_read_only()) return statement;
  } catch (const Error& e) {
    if (e.code() != Code::kInternal) throw;
    const int code = sqlite3_errcode(database.handle());
    if (code == SQLITE_OK) throw Error(Code::kUsage, cat(what, ": ", e.message()));
    if (code != SQLITE_AUTH) {
      const std::string message = sqlite3_errmsg(database.handle());
      throw Error(Code::kUsage, cat(what, ": ", message, meant(database, sql, columns, message)));
    }
  }
  throw Error(Code::kUsage, cat(what, ": nothing but reading is allowed"));
}

UserLimits::UserLimits(Database& database, double seconds)
    : database_(database), end_s_(monotonic_s() + seconds) {
  const bool is_own = seconds <= 0;
  const auto set = [&](int kind, int limit) {
    return sqlite3_limit(database.handle(), kind, limit);
  };
  value_bytes_ = set(SQLITE_LIMIT_LENGTH, (is_own ? 256 : 2) * kMiB);
  pattern_bytes_ = set(SQLITE_LIMIT_LIKE_PATTERN_LENGTH, is_own ? -1 : kPatternBytes);
  const sqlite3_int64 heap = sqlite3_int64{is_own ? 1024 : 256} * kMiB;
  const sqlite3_int64 before = sqlite3_hard_heap_limit64(-1);
  if (before == 0 || heap < before) sqlite3_hard_heap_limit64(heap);
  if (is_own) return;
  sqlite3_progress_handler(database.handle(), kSteps, &on_progress, this);
  set_unbounded(database, &refuse_unbounded);
}

UserLimits::~UserLimits() {
  set_unbounded(database_, nullptr);
  sqlite3_progress_handler(database_.handle(), 0, nullptr, nullptr);
  sqlite3_limit(database_.handle(), SQLITE_LIMIT_LENGTH, value_bytes_);
  sqlite3_limit(database_.handle(), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, pattern_bytes_);
}

int UserLimits::on_progress(void* limits) {
  return monotonic_s() > static_cast<const UserLimits*>(limits)->end_s_ ? 1 : 0;
}

QueryAnswer answer_query(Database& database, const std::string& sql) {
  const UserLimits limits(database, 0);
  Statement statement = user_statement(database, sql, "the query");
  QueryAnswer answer;
  for (int column = 0; column < statement.columns(); ++column) {
    answer.columns.push_back(statement.column_name(column));
  }
  while (statement.next()) {
    List row;
    for (int column = 0; column < statement.columns(); ++column) {
      row.push_back(cell_value(statement, column));
    }
    answer.rows.push_back(std::move(row));
  }
  return answer;
}

}  // namespace rtrain::store
