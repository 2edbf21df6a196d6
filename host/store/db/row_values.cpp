#include "host/store/db/row_values.h"

#include <sqlite3.h>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/inner_file.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"

namespace rtrain::store {

Value time_value(std::optional<int64_t> time_ms) {
  if (!time_ms) return {};
  return time_text(*time_ms);
}

Value or_empty_map(const Value& value) { return value.is_nil() ? Value(Map{}) : value; }

std::optional<std::string> optional_json(const Value& value) {
  if (value.is_nil()) return std::nullopt;
  return to_json(value);
}

Value json_value(const std::string& text) { return text.empty() ? Value() : from_json(text); }

Value optional_value(std::optional<int64_t> number) { return number ? Value(*number) : Value(); }

std::string entry_name(const Statement& row, int column) {
  std::string name = row.text(column);
  if (is_inner_name(name)) return name;
  throw Error(Code::kEnvironment, cat("the store has a row with the name '", terminal_line(name),
                                      "', which leads out of its folder: another program has "
                                      "written it, and nothing is done with it"));
}

Value cell_value(const Statement& row, int column) {
  switch (row.type(column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_FLOAT:
      return row.real(column);
    default:
      return row.text(column);
  }
}

}  // namespace rtrain::store
