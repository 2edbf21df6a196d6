// host/engine/data/arrow/arrow_import.h: columns of the Arrow C data interface as tensors and Lua
// values.
//
// Numbers without nulls and the bytes of strings are not copied: the tensor keeps the column alive.
// Every length, offset and buffer is checked before use; an invalid one is an Error(kArgument) that
// names the column.
#pragma once

#include <memory>

#include "host/api/arrow_batch.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// Pushes a tensor for numbers, booleans and fixed-size lists of them, else a table:
//   {kind = 'strings' | 'binary' | 'image', offsets = int64 (rows + 1), bytes = uint8,
//    valid = bool or nil}
//   {kind = 'masked', values = integers or booleans, 0 where a row is null, valid = bool}
//   {kind = 'objects', values = list with holes, n = rows}.
// A null is NaN in a column of floats. Integers and booleans with nulls are 'masked'.
void push_arrow_column(lua_State* L, const std::shared_ptr<api::ArrowColumn>& column);

}  // namespace rtrain::engine
