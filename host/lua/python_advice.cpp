#include "host/lua/python_advice.h"

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

// Calls the function of base.errors.pythonisms with the values at the top, which it takes away; ""
// when it has nothing to say.
std::string ask(lua_State* L, const char* function, int count) {
  const int first = lua_gettop(L) - count + 1;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "base.errors.pythonisms");
  std::string out;
  if (lua_pcall(L, 1, 1, 0) == 0) {
    lua_getfield(L, -1, function);
    for (int i = 0; i < count; ++i) lua_pushvalue(L, first + i);
    const bool is_text = lua_pcall(L, count, 1, 0) == 0 && lua_type(L, -1) == LUA_TSTRING;
    if (is_text) out = lua_tostring(L, -1);
  }
  lua_settop(L, first - 1);
  return out;
}

}  // namespace

std::string with_python_advice(lua_State* L, const std::string& text, const std::string& message) {
  lua_pushlstring(L, text.data(), text.size());
  lua_pushlstring(L, message.data(), message.size());
  const std::string advice = ask(L, "of_text", 2);
  return advice.empty() ? message : cat(message, " (", advice, ")");
}

void refuse_python_constants(lua_State* L) {
  lua_pushvalue(L, -1);
  const std::string text = ask(L, "of_constants", 1);
  if (!text.empty()) throw Error(Code::kUser, text, "(while reading the code)");
}

}  // namespace rtrain
