#include "host/engine/runtime/checks.h"

#include <string>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/lua_tensor.h"

namespace rtrain::engine {
namespace {

[[noreturn]] void refuse(lua_State* L, int index, std::string_view what, std::string_view wanted) {
  const int absolute = index > 0 ? index : lua_gettop(L) + index + 1;
  throw Error(Code::kArgument,
              cat(what, ": expected ", wanted, ", got ", describe_value(L, absolute)));
}

std::string_view text_of(lua_State* L, int index, std::string_view what, std::string_view wanted) {
  if (lua_type(L, index) != LUA_TSTRING) refuse(L, index, what, wanted);
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return {text, size};
}

}  // namespace

std::string_view check_text(lua_State* L, int index, std::string_view what) {
  return text_of(L, index, what, "a string");
}

void check_callable(lua_State* L, int index, std::string_view what) {
  if (lua_type(L, index) == LUA_TFUNCTION) return;
  if (luaL_getmetafield(L, index, "__call") == 0) refuse(L, index, what, "a function");
  lua_pop(L, 1);
}

bool check_boolean(lua_State* L, int index, std::string_view what) {
  if (lua_type(L, index) != LUA_TBOOLEAN) refuse(L, index, what, "true or false");
  return lua_toboolean(L, index) != 0;
}

at::ScalarType check_dtype(lua_State* L, int index, std::string_view what) {
  return parse_dtype(text_of(L, index, what, "a dtype"));
}

c10::Device check_device(lua_State* L, int index, std::string_view what) {
  return parse_device(std::string(text_of(L, index, what, "a device")));
}

at::MemoryFormat check_memory_format(lua_State* L, int index, std::string_view what) {
  return parse_memory_format(text_of(L, index, what, "a memory format"));
}

}  // namespace rtrain::engine
