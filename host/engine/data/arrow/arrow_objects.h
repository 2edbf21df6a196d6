// host/engine/data/arrow/arrow_objects.h: Lua values of one column as an Arrow array of the type
// that holds them all.
#pragma once

#include <string>

#include "host/engine/data/arrow/arrow_node.h"
#include "host/lua/lua.h"

namespace rtrain {

// Fills the node from the table {kind = 'objects', values =, n =} at the index: booleans; numbers
// (int64 when all are integral, uint64 when one needs it, else float64); strings (binary when one
// is not UTF-8); lists and tensors as lists; tables with string keys as structs, fields in
// alphabetical order. nil and torch.none are nulls. Throws Error(kArgument) that names the column
// where one type cannot hold two of the values.
void fill_objects(lua_State* L, int index, const std::string& name, ArrowNode& node);

}  // namespace rtrain
