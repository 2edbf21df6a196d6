#include "host/lua/unset_globals.h"

#include "host/base/error.h"
#include "host/lua/embed.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"

namespace rtrain::lua {
namespace {

int is_library_module(lua_State* L) {
  const char* name = luaL_checkstring(L, 1);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_getfield(L, -1, name);
  lua_pushboolean(L, lua_isnil(L, -1) == 0 || find_module(name).has_value() ? 1 : 0);
  return 1;
}

void set_text(lua_State* L, const char* name, const std::string& text) {
  lua_pushlstring(L, text.data(), text.size());
  lua_setfield(L, -2, name);
}

// Unloads the modules that have looked at the code. Otherwise the garbage collector would walk them
// in each of the script's cycles.
void forget_modules(lua_State* L) {
  constexpr const char* kNames[] = {"base.errors.unset_globals", "base.errors.pythonisms",
                                    "base.errors.bytecode", "base.instruction"};
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaded");
  for (const char* name : kNames) {
    lua_pushnil(L);
    lua_setfield(L, -2, name);
  }
  lua_pop(L, 2);
}

// Calls the function of base.errors.unset_globals that is above the chunk, with the arguments on
// top.
void refuse(lua_State* L, int chunk) {
  protected_call(L, lua_gettop(L) - chunk - 1, 1);
  forget_modules(L);
  const std::string message = lua_isstring(L, -1) != 0 ? lua_tostring(L, -1) : "";
  lua_settop(L, chunk);
  if (!message.empty()) throw Error(Code::kUser, message, "(while reading the code)");
}

}  // namespace

void refuse_unset_globals(lua_State* L, const ScriptText& script) {
  const int chunk = lua_gettop(L);
  push_module_function(L, "base.errors.unset_globals", "message");
  lua_newtable(L);
  lua_pushvalue(L, chunk);
  lua_setfield(L, -2, "fn");
  set_text(L, "path", script.path);
  set_text(L, "text", script.text);
  set_text(L, "folder", script.folder);
  push_function<&is_library_module>(L);
  refuse(L, chunk);
}

void refuse_python_constants(lua_State* L) {
  const int chunk = lua_gettop(L);
  push_module_function(L, "base.errors.unset_globals", "of_constants");
  lua_pushvalue(L, chunk);
  refuse(L, chunk);
}

}  // namespace rtrain::lua
