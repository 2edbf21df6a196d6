// host/store/db/row_values.h: columns of the store as the plain data that commands show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain {

// RFC 3339 UTC; null without a time.
Value time_value(std::optional<int64_t> time_ms);
// Of a JSON text; null of an empty one.
Value json_value(const std::string& text);
Value optional_value(std::optional<int64_t> number);
// A text that is the name of an entry of a folder. Throws Error(kEnvironment) for another one,
// which some other program has written: it could lead anywhere.
std::string entry_name(const Statement& row, int column);
// Of a column of any type.
Value cell_value(const Statement& row, int column);

}  // namespace rtrain
