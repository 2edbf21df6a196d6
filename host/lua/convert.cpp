#include "host/lua/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr int kCdata = LUA_TTHREAD + 2;  // LuaJIT's type number of FFI objects
constexpr int kMaxDepth = 60;

class Reader {
 public:
  explicit Reader(lua_State* L) : L_(L) {}

  Value read(int index, const std::string& path, int depth) {
    if (index < 0) index = lua_gettop(L_) + index + 1;
    switch (lua_type(L_, index)) {
      case LUA_TNIL:
      case LUA_TNONE:
        return {};
      case LUA_TBOOLEAN:
        return lua_toboolean(L_, index) != 0;
      case LUA_TNUMBER:
        return number(lua_tonumber(L_, index));
      case LUA_TSTRING: {
        size_t size = 0;
        const char* text = lua_tolstring(L_, index, &size);
        return std::string(text, size);
      }
      case LUA_TTABLE:
        return table(index, path, depth);
      case kCdata:
        return int64(index, path);
      default:
        refuse(path, luaL_typename(L_, index));
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& path, std::string_view type) {
    throw Error(
        Code::kArgument,
        cat(path, ": a ", type, " is not plain data (nil, boolean, number, string, list, map)"));
  }

  static Value number(double v) {
    const bool integral =
        std::floor(v) == v && std::abs(v) <= 0x1p53 && !(v == 0 && std::signbit(v));
    if (integral) return static_cast<int64_t>(v);
    return v;
  }

  // int64 and uint64 cdata print as "5LL" and "5ULL".
  Value int64(int index, const std::string& path) {
    lua_getglobal(L_, "tostring");
    lua_pushvalue(L_, index);
    lua_call(L_, 1, 1);
    const std::string text = lua_tostring(L_, -1);
    lua_pop(L_, 1);
    if (!text.ends_with("LL")) refuse(path, "cdata");
    return static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  }

  bool has_meta(int index, const char* name) {
    if (lua_getmetatable(L_, index) == 0) return false;
    luaL_getmetatable(L_, name);
    const bool same = lua_rawequal(L_, -1, -2) != 0;
    lua_pop(L_, 2);
    return same;
  }

  Value table(int index, const std::string& path, int depth) {
    if (depth > kMaxDepth)
      throw Error(Code::kArgument, cat(path, ": nested too deeply, or a cycle"));
    luaL_checkstack(L_, 8, "too deep");
    if (has_meta(index, kListMeta)) return list(index, path, depth);
    if (has_meta(index, kIntMapMeta)) return int_map(index, path, depth);
    if (luaL_getmetafield(L_, index, "__order") != 0) return ordered_map(index, path, depth);
    if (lua_objlen(L_, index) > 0) return list(index, path, depth);
    return map(index, path, depth);
  }

  Value list(int index, const std::string& path, int depth) {
    const size_t size = lua_objlen(L_, index);
    size_t count = 0;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) ++count;
    if (count != size) {
      throw Error(Code::kArgument, cat(path, ": a table with both list items and named fields"));
    }
    List out;
    out.reserve(size);
    for (size_t i = 1; i <= size; ++i) {
      lua_rawgeti(L_, index, static_cast<int>(i));
      out.push_back(read(-1, cat(path, "[", i, "]"), depth + 1));
      lua_pop(L_, 1);
    }
    return out;
  }

  Value map(int index, const std::string& path, int depth) {
    std::vector<std::string> keys;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      if (lua_type(L_, -2) != LUA_TSTRING) refuse(cat(path, " (a key)"), luaL_typename(L_, -2));
      size_t size = 0;
      const char* text = lua_tolstring(L_, -2, &size);
      keys.emplace_back(text, size);
    }
    std::sort(keys.begin(), keys.end());
    Map out;
    for (const std::string& key : keys) {
      lua_pushlstring(L_, key.data(), key.size());
      lua_rawget(L_, index);
      out.set(key, read(-1, cat(path, ".", key), depth + 1));
      lua_pop(L_, 1);
    }
    return out;
  }

  // The metafield on the stack is a function: table → list of its keys in order.
  Value ordered_map(int index, const std::string& path, int depth) {
    lua_pushvalue(L_, index);
    lua_call(L_, 1, 1);
    const int keys = lua_gettop(L_);
    Map out;
    for (size_t i = 1; i <= lua_objlen(L_, keys); ++i) {
      lua_rawgeti(L_, keys, static_cast<int>(i));
      const std::string key = luaL_checkstring(L_, -1);
      lua_gettable(L_, index);
      out.set(key, read(-1, cat(path, ".", key), depth + 1));
      lua_pop(L_, 1);
    }
    lua_pop(L_, 1);
    return out;
  }

  Value int_map(int index, const std::string& path, int depth) {
    std::vector<int64_t> keys;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      keys.push_back(static_cast<int64_t>(luaL_checknumber(L_, -2)));
    }
    std::sort(keys.begin(), keys.end());
    Map out;
    for (const int64_t key : keys) {
      lua_pushnumber(L_, static_cast<double>(key));
      lua_rawget(L_, index);
      out.set(key, read(-1, cat(path, "[", key, "]"), depth + 1));
      lua_pop(L_, 1);
    }
    return out;
  }

  lua_State* L_;
};

void push_int(lua_State* L, int64_t number) {
  if (std::abs(number) <= int64_t{1} << 53) {
    lua_pushnumber(L, static_cast<double>(number));
    return;
  }
  // Beyond 2^53 a Lua number would lose digits: an int64 cdata, made by the chunk "return <n>LL".
  const std::string chunk = number == INT64_MIN ? std::string("return -9223372036854775807LL-1LL")
                                                : cat("return ", number, "LL");
  if (luaL_loadstring(L, chunk.c_str()) != 0) throw Error(Code::kInternal, lua_tostring(L, -1));
  lua_call(L, 0, 1);
}

void push_map(lua_State* L, const Map& map) {
  lua_createtable(L, 0, static_cast<int>(map.size()));
  bool integer_keys = false;
  for (const auto& [key, item] : map) {
    if (const auto* name = std::get_if<std::string>(&key)) {
      lua_pushlstring(L, name->data(), name->size());
    } else {
      integer_keys = true;
      lua_pushnumber(L, static_cast<double>(std::get<int64_t>(key)));
    }
    push_value(L, item);
    lua_rawset(L, -3);
  }
  if (!integer_keys) return;
  luaL_newmetatable(L, kIntMapMeta);
  lua_setmetatable(L, -2);
}

void push_list(lua_State* L, const List& list) {
  lua_createtable(L, static_cast<int>(list.size()), 0);
  for (size_t i = 0; i < list.size(); ++i) {
    push_value(L, list[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  if (!list.empty()) return;
  luaL_newmetatable(L, kListMeta);
  lua_setmetatable(L, -2);
}

}  // namespace

Value to_value(lua_State* L, int index, std::string_view what) {
  return Reader(L).read(index, std::string(what), 0);
}

void push_value(lua_State* L, const Value& value) {
  luaL_checkstack(L, 8, "value nested too deeply");
  if (value.is_nil()) {
    lua_pushnil(L);
  } else if (value.is_bool()) {
    lua_pushboolean(L, value.as_bool() ? 1 : 0);
  } else if (value.is_int()) {
    push_int(L, value.as_int());
  } else if (value.is_float()) {
    lua_pushnumber(L, value.as_float());
  } else if (value.is_string()) {
    lua_pushlstring(L, value.as_string().data(), value.as_string().size());
  } else if (value.is_list()) {
    push_list(L, value.as_list());
  } else {
    push_map(L, value.as_map());
  }
}

}  // namespace rtrain
