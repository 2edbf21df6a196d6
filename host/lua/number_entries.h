// host/lua/number_entries.h: tables of numbers by name, such as train.log takes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "host/lua/lua.h"

namespace rtrain::lua {

struct NumberEntry {
  std::string_view key;  // lives as long as the table
  double value;
};

// Returns the entries of the table at the index. If one of them is not a name with a number, pushes
// its key and returns nothing.
std::optional<std::vector<NumberEntry>> number_entries(lua_State* L, int index);

}  // namespace rtrain::lua
