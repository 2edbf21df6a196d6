// host/engine/autograd.h: backward, gradients, hooks, and the guards that switch recording on and
// off.
//
// LibTorch's own threads are off for autograd (open.cpp), so hooks run on the Lua thread.
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

int backward(lua_State* L);  // (tensor, gradient?, {retain_graph, create_graph, inputs, gradient})
int register_hook(lua_State* L);  // (tensor, fn) → handle with :remove()
int retain_grad(lua_State* L);

}  // namespace rtrain
