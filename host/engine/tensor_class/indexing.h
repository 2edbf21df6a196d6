// host/engine/tensor_class/indexing.h: x[i], x[mask], x[{0, torch.slice(1, 3), '...', torch.none}],
// for reading and assignment.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::engine {

int get_item(lua_State* L);  // (tensor, key) → tensor
int set_item(lua_State* L);  // (tensor, key, value)

// Adds slice and none to the module table at the top of the stack.
void open_indexing(lua_State* L);

}  // namespace rtrain::engine
