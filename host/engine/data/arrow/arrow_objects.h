// host/engine/data/arrow/arrow_objects.h: a column of Lua values as an Arrow array of the narrowest
// type that holds all of them.
#pragma once

#include <string>

#include "host/engine/data/arrow/arrow_node.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// Fills the node from the table {kind = 'objects', values =, n =} at the index. Types: booleans;
// numbers (int64 if all are integers, uint64 if one of those exceeds int64, else float64); strings
// (binary if one is not UTF-8); lists and tensors as lists; tables with string keys as structs,
// fields in alphabetical order. nil and torch.none are nulls. Throws Error(kArgument) that names
// the column if no single type holds all values.
void fill_objects(lua_State* L, int index, const std::string& name, ArrowNode& node);

}  // namespace rtrain::engine
