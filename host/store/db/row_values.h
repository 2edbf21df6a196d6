// host/store/db/row_values.h: converts columns of the store to plain data for commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

// The value, or an empty map where it is nil: for a column that always has a JSON document.
Value or_empty_map(const Value& value);
// The JSON of the value; nothing where it is nil.
std::optional<std::string> optional_json(const Value& value);
// RFC 3339 UTC; null without a time.
Value time_value(std::optional<int64_t> time_ms);
// Parses a JSON text; nil if it is empty.
Value json_value(const std::string& text);
Value optional_value(std::optional<int64_t> number);
// A text that is a name in a folder. Throws Error(kEnvironment) for any other text, which another
// program must have written: it could lead anywhere.
std::string entry_name(const Statement& row, int column);
// Converts a column of any type.
Value cell_value(const Statement& row, int column);

}  // namespace rtrain::store
