#include "host/bind/closure.h"

#include <array>

#include "host/lua/class.h"
#include "host/lua/closure/closure.h"

namespace rtrain::bind {
namespace {

int dump(lua_State* L) {
  luaL_checkany(L, 1);
  const lua::ClosureDump out = lua::dump_closure(L, 1);
  lua_pushlstring(L, out.bytes.data(), out.bytes.size());
  if (out.warning.empty()) return 1;
  lua_pushlstring(L, out.warning.data(), out.warning.size());
  return 2;
}

int load(lua_State* L) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, 1, &size);
  lua::load_closure(L, {bytes, size});
  return 1;
}

}  // namespace

int open_closure(lua_State* L) {
  static constexpr std::array kFunctions = {lua::method<&dump>("dump"), lua::method<&load>("load")};
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
