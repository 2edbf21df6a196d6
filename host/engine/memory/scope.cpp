// torch.scope: releases the tensors made inside a function call.
#include "host/engine/memory/open.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/lua_tensor.h"
#include "host/engine/runtime/vm.h"

namespace rtrain::engine {
namespace {

// The tensors made inside one torch.scope. The list is weak, so collected tensors are not in it.
class Scope {
 public:
  Scope(Vm& vm, lua_State* L)
      : vm_(vm), L_(L), outer_ref_(vm.scope_ref), outer_count_(vm.scope_count) {
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    vm.scope_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    vm.scope_count = 0;
  }
  ~Scope() {
    luaL_unref(L_, LUA_REGISTRYINDEX, vm_.scope_ref);
    vm_.scope_ref = outer_ref_;
    vm_.scope_count = outer_count_;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Releases the scope's tensors except those in the table at index `kept`, which move to the outer
  // scope.
  void release_all_but(int kept) {
    const int count = static_cast<int>(vm_.scope_count);
    lua_rawgeti(L_, LUA_REGISTRYINDEX, vm_.scope_ref);
    const int list = lua_gettop(L_);
    if (outer_ref_ != LUA_NOREF) lua_rawgeti(L_, LUA_REGISTRYINDEX, outer_ref_);
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(L_, list, i);
      lua_pushvalue(L_, -1);
      lua_rawget(L_, kept);
      const bool keep = lua_toboolean(L_, -1) != 0;
      lua_pop(L_, 1);
      at::Tensor* tensor = test_tensor(vm_, L_, -1);
      if (tensor != nullptr && !keep) tensor->reset();
      if (tensor != nullptr && keep && outer_ref_ != LUA_NOREF) {
        lua_rawseti(L_, -2, static_cast<int>(++outer_count_));
      } else {
        lua_pop(L_, 1);
      }
    }
    lua_settop(L_, list - 1);
  }

 private:
  Vm& vm_;
  lua_State* L_;
  int outer_ref_;
  size_t outer_count_;
};

// Adds the value, or all tensors in a table of any depth, to the table at index `kept`.
void keep_value(lua_State* L, int value, int kept) {
  const int type = lua_type(L, value);
  if (type != LUA_TUSERDATA && type != LUA_TTABLE) return;
  luaL_checkstack(L, 8, "too deep");
  lua_pushvalue(L, value);
  lua_rawget(L, kept);
  const bool known = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  if (known) return;
  lua_pushvalue(L, value);
  lua_pushboolean(L, 1);
  lua_rawset(L, kept);
  if (type != LUA_TTABLE) return;
  lua_pushnil(L);
  while (lua_next(L, value) != 0) {
    keep_value(L, lua_gettop(L), kept);
    lua_pop(L, 1);
  }
}

int keep(lua_State* L) {
  for (int i = 1; i <= lua_gettop(L); ++i) keep_value(L, i, lua_upvalueindex(1));
  return lua_gettop(L);
}

// scope(fn): calls fn(keep) and releases all tensors made inside, except the results and those
// passed to keep().
int scope(lua_State* L) {
  check_callable(L, 1, "scope: fn");
  lua_settop(L, 1);
  lua_newtable(L);
  lua_insert(L, 1);
  Scope scope(vm(L), L);
  lua_pushvalue(L, 1);
  push_torch_function<&keep>(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  const int top = lua_gettop(L);
  for (int i = 2; i <= top; ++i) keep_value(L, i, 1);
  scope.release_all_but(1);
  return top - 1;
}

constexpr lua::Method kFunctions[] = {torch_method<&scope>("scope")};

}  // namespace

std::span<const lua::Method> scope_functions() { return kFunctions; }

}  // namespace rtrain::engine
