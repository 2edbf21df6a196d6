// host/engine/data/arrow/arrow_import.h: columns of the Arrow C data interface as tensors and Lua
// values.
//
// Numbers without nulls, and the bytes of strings, stay where they are: the tensor keeps the
// column. Every length, offset and buffer is checked before it is used; what does not fit is an
// Error(kArgument) that names the column.
#pragma once

#include <memory>

#include "host/api/arrow_batch.h"
#include "host/lua/lua.h"

namespace rtrain {

// Pushes the column: a tensor for numbers, booleans and fixed-size lists of them, else a table
//   {kind = 'strings' | 'binary' | 'image', offsets = int64 (rows + 1), bytes = uint8,
//    valid = bool or nil}
//   {kind = 'masked', values = integers or booleans, 0 where a row is null, valid = bool}
//   {kind = 'objects', values = list with holes, n = rows}.
// Null is NaN in floats; integers and booleans that have nulls are masked.
void push_arrow_column(lua_State* L, const std::shared_ptr<ArrowColumn>& column);

}  // namespace rtrain
