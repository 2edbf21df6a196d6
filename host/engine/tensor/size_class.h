// host/engine/tensor/size_class.h: torch.Size, the result of x.shape, x:size() and x:stride(): a
// list of integers with a metatable.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::engine {

// Makes the metatable that push_sizes (tensor.h) uses; adds Size to the table at the top.
void open_size(lua_State* L);

}  // namespace rtrain::engine
