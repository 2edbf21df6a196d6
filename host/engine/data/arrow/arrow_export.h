// host/engine/data/arrow/arrow_export.h: tensors and Lua values as columns of the Arrow C data
// interface: the inverse of arrow_import.h.
//
// A column keeps its tensors' memory where it is contiguous; change a tensor before the batch was
// written, and the change is written.
#pragma once

#include <memory>
#include <string>

#include "host/api/arrow_batch.h"
#include "host/lua/lua.h"

namespace rtrain {

// The column at the index: a tensor, or a table that from_arrow gives. Throws Error(kArgument) that
// names the column for anything else, for offsets that do not fit the bytes, and for values of
// several types in one column.
std::shared_ptr<ArrowColumn> to_arrow_column(lua_State* L, int index, const std::string& name);

}  // namespace rtrain
