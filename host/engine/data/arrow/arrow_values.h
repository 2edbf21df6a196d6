// host/engine/data/arrow/arrow_values.h: single values of Arrow arrays as Lua values.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

#include "host/engine/data/arrow/arrow_array.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// The dtype of a number's format ("l" → int64); nullopt for other formats, including booleans.
std::optional<at::ScalarType> arrow_dtype(std::string_view format);

// Pushes {kind = 'objects', values = list with holes for nulls, n = rows}. Lists become lists (a
// null inside becomes torch.none), structs become tables, strings and binary become strings.
void push_objects(lua_State* L, const ArrowView& view);

}  // namespace rtrain::engine
