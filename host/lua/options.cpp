#include "host/lua/options.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::lua {

Options::Options(lua_State* L, int index, std::string_view function,
                 std::initializer_list<const char*> known)
    : L_(L), index_(index), function_(function) {
  if (lua_isnoneornil(L, index)) return;
  if (lua_type(L, index) != LUA_TTABLE) {
    const bool takes_dtype =
        std::find(known.begin(), known.end(), std::string_view("dtype")) != known.end();
    const bool is_dtype = takes_dtype && lua_type(L, index) == LUA_TSTRING;
    throw Error(Code::kArgument, cat(function, ": expected a table of options, got ",
                                     is_dtype ? cat("'", std::string_view(lua_tostring(L, index)),
                                                    "': say {dtype = '",
                                                    std::string_view(lua_tostring(L, index)), "'}")
                                              : luaL_typename(L, index)));
  }
  std::vector<std::string> unknown;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      unknown.push_back(cat("(a ", luaL_typename(L, -2), ")"));
    } else if (const std::string_view name = lua_tostring(L, -2);
               std::find(known.begin(), known.end(), name) == known.end()) {
      unknown.emplace_back(name);
    }
  }
  if (unknown.empty()) return;
  const std::string& first = *std::min_element(unknown.begin(), unknown.end());
  const std::vector<std::string> names(known.begin(), known.end());
  throw Error(Code::kArgument,
              cat(function, ": unknown option '", first, "'", suggestion(first, names)));
}

void Options::refuse(const char* name, std::string_view wanted) const {
  throw Error(Code::kArgument, cat(function_, ": option '", name, "' must be ", wanted, ", not a ",
                                   luaL_typename(L_, -1)));
}

bool Options::push_present(const char* name) const {
  push(name);
  if (!lua_isnil(L_, -1)) return true;
  lua_pop(L_, 1);
  return false;
}

void Options::push(const char* name) const {
  if (lua_isnoneornil(L_, index_)) {
    lua_pushnil(L_);
  } else {
    lua_getfield(L_, index_, name);
  }
}

std::string Options::text(const char* name, std::string_view fallback) const {
  if (!push_present(name)) return std::string(fallback);
  if (lua_type(L_, -1) != LUA_TSTRING) refuse(name, "a string");
  size_t size = 0;
  const char* data = lua_tolstring(L_, -1, &size);
  std::string out(data, size);
  lua_pop(L_, 1);
  return out;
}

double Options::number(const char* name, double fallback) const {
  if (!push_present(name)) return fallback;
  if (lua_type(L_, -1) != LUA_TNUMBER) refuse(name, "a number");
  const double out = lua_tonumber(L_, -1);
  lua_pop(L_, 1);
  return out;
}

int64_t Options::integer(const char* name, int64_t fallback) const {
  const double out = number(name, static_cast<double>(fallback));
  if (std::floor(out) != out || std::abs(out) > 0x1p53) {
    throw Error(Code::kArgument,
                cat(function_, ": option '", name, "' must be an integer, not ", out));
  }
  return static_cast<int64_t>(out);
}

bool Options::boolean(const char* name, bool fallback) const {
  if (!push_present(name)) return fallback;
  if (lua_type(L_, -1) != LUA_TBOOLEAN) refuse(name, "true or false");
  const bool out = lua_toboolean(L_, -1) != 0;
  lua_pop(L_, 1);
  return out;
}

std::chrono::milliseconds Options::seconds(const char* name,
                                           std::chrono::milliseconds fallback) const {
  const double out = number(name, static_cast<double>(fallback.count()) / 1000);
  if (!(out > 0) || out > 1e9) {
    throw Error(Code::kArgument,
                cat(function_, ": option '", name, "' must be above 0 seconds, not ", out));
  }
  return to_ms(out);
}

}  // namespace rtrain::lua
