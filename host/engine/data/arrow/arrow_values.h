// host/engine/data/arrow/arrow_values.h: single values of Arrow arrays as Lua values.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

#include "host/engine/data/arrow/arrow_array.h"
#include "host/lua/lua.h"

namespace rtrain {

// The dtype of a number's format ("l" → int64); nothing for other formats, booleans among them.
std::optional<at::ScalarType> arrow_dtype(std::string_view format);

// Pushes {kind = 'objects', values = list with holes for nulls, n = rows}: lists as lists (null in
// them as torch.none), structs as tables, strings and binary as strings.
void push_objects(lua_State* L, const ArrowView& view);

}  // namespace rtrain
