// host/engine/tensor/named_results.h: gives the first of several results fields with the names of
// all, as in `torch.topk(x, 2).values`.
//
// The results are in the environment of its userdata and live as long as it does.
#pragma once

#include <ATen/core/function_schema.h>

#include <initializer_list>

#include "host/lua/lua.h"

namespace rtrain::engine {

// Names the results at the top of the stack. No effect if the first is not a tensor.
void name_results(lua_State* L, std::initializer_list<const char*> names);
// The same with the names in the operator's schema, if it has more than one named result.
void name_results(lua_State* L, const c10::FunctionSchema& schema);

// Pushes the set of possible names, and the function (tensor, name) → result or nil.
void push_result_names(lua_State* L);

}  // namespace rtrain::engine
