#include "host/engine/operators/functions.h"

#include <algorithm>
#include <memory>
#include <string>

#include "host/base/text/text.h"
#include "host/engine/memory/history_frames.h"
#include "host/engine/operators/boxed/argument_stacks.h"
#include "host/engine/operators/boxed/call.h"
#include "host/engine/operators/fast/fast_ops.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/open.h"

namespace rtrain::engine {
namespace {

Op& own_op(lua_State* L) { return *static_cast<Op*>(lua_touserdata(L, lua_upvalueindex(1))); }

int op_function(lua_State* L) {
  const LineRange line(L);
  const FrameScope frames(L);
  return call_op(L, own_op(L));
}

// Pushes a copy of the keywords at the index, with self = the value on top, which is popped.
void push_with_self(lua_State* L, int keywords) {
  lua_newtable(L);
  lua_insert(L, -2);
  lua_setfield(L, -2, "self");
  lua_pushnil(L);
  while (lua_next(L, keywords) != 0) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

// x:where(condition, other) is where(condition, x, other).
int method_function(lua_State* L) {
  Op& op = own_op(L);
  const int place = op.family->self_place;
  lua_pushvalue(L, 1);
  lua_remove(L, 1);
  const int given = lua_gettop(L) - 1;
  if (given > 0 && given <= place && lua_type(L, given) == LUA_TTABLE) {
    push_with_self(L, given);
    lua_replace(L, given);
  } else {
    lua_insert(L, std::min(place, given) + 1);
  }
  return call_op(L, op);
}

// Pushes a C function that calls the operator, through its fast path if it has one.
void push_op(lua_State* L, Op& op) {
  lua_CFunction fast = op.family->check == nullptr ? find_fast_op(op.family->name) : nullptr;
  lua_pushlightuserdata(L, &op);
  lua_pushcclosure(L, fast != nullptr ? fast : &lua::guarded<&op_function, TorchTranslate>, 1);
}

int op(lua_State* L) {
  size_t size = 0;
  const char* name = luaL_checklstring(L, 1, &size);
  Op* found = find_op(vm(L), std::string(name, size));
  if (found == nullptr) {
    lua_pushnil(L);
  } else {
    push_op(L, *found);
  }
  return 1;
}

int op_names(lua_State* L) {
  const auto names = family_names();
  lua_createtable(L, static_cast<int>(names.size()), 0);
  for (size_t i = 0; i < names.size(); ++i) {
    lua_pushlstring(L, names[i].data(), names[i].size());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

// "max(Tensor self, int dim, bool keepdim=False) -> Tensor values, Tensor indices", one for each
// overload, in order of preference.
int op_signatures(lua_State* L) {
  const Family* family = find_family(luaL_checkstring(L, 1));
  lua_newtable(L);
  for (size_t i = 0; family != nullptr && i < family->overloads.size(); ++i) {
    const Overload& overload = family->overloads[i];
    lua_pushstring(L, cat(overload.signature, " -> ", overload.results).c_str());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

// op_overload(name, ...): the overload that a call with these arguments uses, as "add.Tensor".
int op_overload(lua_State* L) {
  Op* found = find_op(vm(L), luaL_checkstring(L, 1));
  if (found == nullptr) return 0;
  lua_remove(L, 1);
  const std::string text = overload_name(L, *found);
  lua_pushlstring(L, text.data(), text.size());
  return 1;
}

constexpr lua::Method kFunctions[] = {torch_method<&op>("op"), torch_method<&op_names>("op_names"),
                                      torch_method<&op_signatures>("op_signatures"),
                                      torch_method<&op_overload>("op_overload")};

}  // namespace

void push_method(lua_State* L, Op& op) {
  if (op.family->self_place == 0) return push_op(L, op);
  lua_pushlightuserdata(L, &op);
  push_torch_function<&method_function>(L, 1);
}

void open_ops(lua_State* L) {
  vm(L).stacks = std::make_shared<ArgumentStacks>();
  lua::add_functions(L, kFunctions);
}

}  // namespace rtrain::engine
