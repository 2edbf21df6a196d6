// host/engine/tensor/named_results.h: the first of several results knows all of them by name, as
// in `torch.topk(x, 2).values`.
//
// They lie in the environment of its userdata, and live as long as it does.
#pragma once

#include <ATen/core/function_schema.h>

#include <initializer_list>

#include "host/lua/lua.h"

namespace rtrain {

// Names the results at the top of the stack; without an effect where the first is not a tensor.
void name_results(lua_State* L, std::initializer_list<const char*> names);
// The same with the names that the operator declares, if it has more than one result with a name.
void name_results(lua_State* L, const c10::FunctionSchema& schema);

// Pushes the set of names that results may have, and the function (tensor, name) → result or nil.
void push_result_names(lua_State* L);

}  // namespace rtrain
