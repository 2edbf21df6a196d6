#include "host/lua/closure/closure_strings.h"

namespace rtrain::lua {

ClosureStrings::ClosureStrings(lua_State* L) : L_(L) {
  for (int* table : {&numbers_, &texts_}) {
    lua_newtable(L);
    *table = lua_gettop(L);
  }
}

uint64_t ClosureStrings::number_of_top() {
  lua_pushvalue(L_, -1);
  lua_rawget(L_, numbers_);
  const bool is_new = lua_isnil(L_, -1);
  const uint64_t number = is_new ? count_++ : static_cast<uint64_t>(lua_tonumber(L_, -1));
  lua_pop(L_, 1);
  if (is_new) {
    lua_pushvalue(L_, -1);
    lua_pushnumber(L_, static_cast<double>(number));
    lua_rawset(L_, numbers_);
    lua_pushvalue(L_, -1);
    lua_rawseti(L_, texts_, static_cast<int>(count_));
  }
  return number;
}

void ClosureStrings::write(ByteWriter& out) const {
  out.add_count(count_);
  for (uint64_t i = 1; i <= count_; ++i) {
    lua_rawgeti(L_, texts_, static_cast<int>(i));
    size_t size = 0;
    const char* text = lua_tolstring(L_, -1, &size);
    out.add_text({text, size});
    lua_pop(L_, 1);
  }
}

}  // namespace rtrain::lua
