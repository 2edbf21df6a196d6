// host/engine/data/arrow/arrow_export.h: tensors and Lua values as columns of the Arrow C data
// interface. The inverse of arrow_import.h.
//
// A column shares the memory of contiguous tensors: a change of the tensor before the batch is
// written is written too.
#pragma once

#include <memory>
#include <string>

#include "host/api/arrow_batch.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// Makes a column of the value at the index: a tensor, or a table as from_arrow returns it. Throws
// Error(kArgument) that names the column for anything else, for offsets that do not fit the bytes,
// and for values of several types in one column.
std::shared_ptr<api::ArrowColumn> to_arrow_column(lua_State* L, int index, const std::string& name);

}  // namespace rtrain::engine
