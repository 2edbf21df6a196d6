// host/lua/number_entries.h: tables of numbers by name, as train.log is called with.
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

// The entries of the table at the index. Nothing when one of them is not a name with a number: its
// key is then pushed.
std::optional<std::vector<NumberEntry>> number_entries(lua_State* L, int index);

}  // namespace rtrain::lua
