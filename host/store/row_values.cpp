#include "host/store/row_values.h"

#include <sqlite3.h>

#include "host/base/clock.h"
#include "host/base/json.h"

namespace rtrain {

Value time_value(std::optional<int64_t> time_ms) {
  if (!time_ms) return {};
  return time_text(*time_ms);
}

Value json_value(const std::string& text) { return text.empty() ? Value() : from_json(text); }

Value optional_value(std::optional<int64_t> number) { return number ? Value(*number) : Value(); }

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

}  // namespace rtrain
