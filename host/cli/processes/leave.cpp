#include "host/cli/processes/leave.h"

#include <cstdio>
#include <cstdlib>

#include "host/lua/class.h"

namespace rtrain::cli {
namespace {

int code_of_argument(lua_State* L) {
  if (lua_isboolean(L, 1)) return lua_toboolean(L, 1) != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  return static_cast<int>(luaL_optinteger(L, 1, EXIT_SUCCESS));
}

int exit_now(lua_State* L) { leave(code_of_argument(L)); }

int exit_closing(lua_State* L) {
  const int code = code_of_argument(L);
  if (lua_toboolean(L, 2) != 0) lua_close(L);
  leave(code);
}

}  // namespace

void leave(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

void replace_os_exit(lua::State& state, bool may_close) {
  lua_getglobal(state, "os");
  if (may_close) {
    lua::push_function<&exit_closing>(state);
  } else {
    lua::push_function<&exit_now>(state);
  }
  lua_setfield(state, -2, "exit");
  lua_pop(state, 1);
}

}  // namespace rtrain::cli
