// host/engine/tensor/constructors.h: tensors from Lua values.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "host/lua/lua.h"

namespace rtrain::engine {

// Makes a tensor from nested lists of numbers, booleans or int64 objects at the index. Without a
// dtype, numbers give the default dtype, booleans bool and int64 objects int64. Throws
// Error(kArgument) for ragged lists and other items.
at::Tensor tensor_from_table(lua_State* L, int index, std::optional<at::ScalarType> dtype);

// A list used as an index: integers give int64, booleans a mask.
at::Tensor tensor_from_index_list(lua_State* L, int index);

}  // namespace rtrain::engine
