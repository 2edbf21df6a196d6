// saved_tensors_hooks: how the tensors that backward needs are kept until then.
#include "host/engine/autograd/autograd.h"
#include "host/engine/autograd/lua_engine.h"
#include "host/engine/checks.h"
#include "host/engine/guard.h"

namespace rtrain {
namespace {

// saved_tensors_hooks(pack, unpack, fn, …): calls the function with the hooks in force and passes
// its results through. Without pack and unpack no hooks are in force.
int saved_tensors_hooks(lua_State* L) {
  SavedTensorHooks hooks;
  if (!lua_isnil(L, 1)) {
    check_callable(L, 1, "saved_tensors_hooks: pack");
    check_callable(L, 2, "saved_tensors_hooks: unpack");
    lua_pushvalue(L, 1);
    hooks.pack = std::make_shared<Callback>(L);
    lua_pushvalue(L, 2);
    hooks.unpack = std::make_shared<Callback>(L);
  }
  check_callable(L, 3, "saved_tensors_hooks: fn");
  const SavedTensorHooksGuard guard(std::move(hooks));
  lua_call(L, lua_gettop(L) - 3, LUA_MULTRET);
  return lua_gettop(L) - 2;
}

constexpr Method kFunctions[] = {torch_method<&saved_tensors_hooks>("saved_tensors_hooks")};

}  // namespace

std::span<const Method> saved_tensors_functions() { return kFunctions; }

}  // namespace rtrain
