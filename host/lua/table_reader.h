// host/lua/table_reader.h: walks over a Lua value by the rules of host/lua/convert.h, and builds
// nodes of any type from it.
//
// A Builder has
// Node: constructible from nothing, bool, int64_t, double or std::string
//   Node list(std::vector<Node>), Node map(Entries, bool ordered)
//   std::optional<Node> other(lua_State*, int index, const std::string& path): a value of any other
//     type; nothing when it cannot be held
//   Node large(uint64_t): a uint64 cdata beyond int64
//   std::optional<Node> known(const void* table), void keep(const void* table, const Node&): for
//     builders that share nodes
//   void check_table(lua_State*, int index, const std::string& path): for builders that refuse some
//     tables
// kHolds: the values that it can hold, for the message
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/value.h"
#include "host/lua/convert.h"
#include "host/lua/list_items.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

template <class Builder>
class TableReader {
 public:
  using Node = typename Builder::Node;
  using Entries = std::vector<std::pair<Key, Node>>;

  TableReader(lua_State* L, Builder builder) : L_(L), builder_(std::move(builder)) {}

  // `path` names the value in messages. Leaves the stack as it was.
  Node read(int index, const std::string& path, int depth = 0) {
    if (index < 0) index = lua_gettop(L_) + index + 1;
    switch (lua_type(L_, index)) {
      case LUA_TNIL:
      case LUA_TNONE:
        return {};
      case LUA_TBOOLEAN:
        return lua_toboolean(L_, index) != 0;
      case LUA_TNUMBER:
        return number(lua_tonumber(L_, index));
      case LUA_TSTRING:
        return text_at(index);
      case LUA_TTABLE:
        return table(index, path, depth);
      case kCdata:
        return cdata(index, path);
      default:
        break;
    }
    if (std::optional<Node> out = builder_.other(L_, index, path)) return std::move(*out);
    refuse(path, luaL_typename(L_, index));
  }

 private:
  static constexpr int kMaxDepth = 60;
  static constexpr double kMaxExactInteger = 0x1p53;

  [[noreturn]] static void refuse(const std::string& path, std::string_view type) {
    throw Error(Code::kArgument, cat(path, ": a ", type, " ", Builder::kHolds));
  }

  std::string text_at(int index) {
    size_t size = 0;
    const char* text = lua_tolstring(L_, index, &size);
    return std::string(text, size);
  }

  bool has_meta(int index, const char* name) {
    if (lua_getmetatable(L_, index) == 0) return false;
    luaL_getmetatable(L_, name);
    const bool same = lua_rawequal(L_, -1, -2) != 0;
    lua_pop(L_, 2);
    return same;
  }

  static bool is_exact_integer(double v) {
    return std::floor(v) == v && std::abs(v) <= kMaxExactInteger && !(v == 0 && std::signbit(v));
  }

  static Node number(double v) {
    if (is_exact_integer(v)) return static_cast<int64_t>(v);
    return v;
  }

  // An int64 cdata prints as "5LL", a uint64 one as "5ULL"; every other cdata prints differently.
  Node cdata(int index, const std::string& path) {
    lua_getglobal(L_, "tostring");
    lua_pushvalue(L_, index);
    lua_call(L_, 1, 1);
    const std::string text = text_at(-1);
    lua_pop(L_, 1);
    if (text.ends_with("ULL")) {
      const uint64_t number = std::strtoull(text.c_str(), nullptr, 10);
      if (number > INT64_MAX) return builder_.large(number);
      return static_cast<int64_t>(number);
    }
    if (!text.ends_with("LL")) {
      if (std::optional<Node> out = builder_.other(L_, index, path)) return std::move(*out);
      refuse(path, "cdata");
    }
    return static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  }

  Node table(int index, const std::string& path, int depth) {
    const void* identity = lua_topointer(L_, index);
    if (std::optional<Node> node = builder_.known(identity)) return std::move(*node);
    if (depth > kMaxDepth || !open_.insert(identity).second) {
      throw Error(Code::kArgument, cat(path, ": nested too deeply, or a table within itself"));
    }
    luaL_checkstack(L_, 8, "too deep");
    if constexpr (requires { builder_.check_table(L_, index, path); }) {
      builder_.check_table(L_, index, path);
    }
    Node out = fresh_table(index, path, depth);
    open_.erase(identity);
    builder_.keep(identity, out);
    return out;
  }

  Node fresh_table(int index, const std::string& path, int depth) {
    if (has_meta(index, kListMeta)) return list(index, path, depth);
    if (has_meta(index, kIntMapMeta)) return int_map(index, path, depth);
    if (luaL_getmetafield(L_, index, "__order") != 0) return ordered_map(index, path, depth);
    if (lua_objlen(L_, index) > 0) return list(index, path, depth);
    return map(index, path, depth);
  }

  // Refuses a table with a number among its keys that is neither a list nor has only integer keys.
  [[noreturn]] void refuse_list(int index, const std::string& path) {
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      if (lua_type(L_, -2) != LUA_TSTRING) continue;
      throw Error(Code::kArgument, cat(path, ": a table with both list items and named fields"));
    }
    const int hole = first_hole(L_, index);
    throw Error(Code::kArgument, hole > 0 ? cat(path, ": item ", hole, " of the list is nil")
                                          : cat(path, ": ", list_problem(L_, index)));
  }

  Node list(int index, const std::string& path, int depth) {
    const size_t size = lua_objlen(L_, index);
    if (!is_list(L_, index, static_cast<int>(size))) refuse_list(index, path);
    std::vector<Node> items;
    items.reserve(size);
    for (size_t i = 1; i <= size; ++i) {
      lua_rawgeti(L_, index, static_cast<int>(i));
      if (lua_isnil(L_, -1)) refuse_list(index, path);
      items.push_back(read(-1, cat(path, "[", i, "]"), depth + 1));
      lua_pop(L_, 1);
    }
    return builder_.list(std::move(items));
  }

  Node map(int index, const std::string& path, int depth) {
    std::vector<std::string> keys;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      if (lua_type(L_, -2) == LUA_TNUMBER) refuse_list(index, path);
      if (lua_type(L_, -2) != LUA_TSTRING) refuse(cat(path, " (a key)"), luaL_typename(L_, -2));
      keys.push_back(text_at(-2));
    }
    std::sort(keys.begin(), keys.end());
    Entries entries;
    for (const std::string& key : keys) {
      lua_pushlstring(L_, key.data(), key.size());
      lua_rawget(L_, index);
      entries.emplace_back(key, read(-1, cat(path, ".", key), depth + 1));
      lua_pop(L_, 1);
    }
    return builder_.map(std::move(entries), false);
  }

  // The metafield on the stack is a function: table → list of its keys in order.
  Node ordered_map(int index, const std::string& path, int depth) {
    lua_pushvalue(L_, index);
    lua_call(L_, 1, 1);
    const int keys = lua_gettop(L_);
    Entries entries;
    for (size_t i = 1; i <= lua_objlen(L_, keys); ++i) {
      lua_rawgeti(L_, keys, static_cast<int>(i));
      const Key key = key_at(-1, path);
      lua_pushvalue(L_, -1);
      lua_gettable(L_, index);
      entries.emplace_back(key, read(-1, cat(path, ".", text_at(-2)), depth + 1));
      lua_pop(L_, 2);
    }
    lua_pop(L_, 1);
    return builder_.map(std::move(entries), true);
  }

  Node int_map(int index, const std::string& path, int depth) {
    std::vector<int64_t> keys;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      const Key key = key_at(-2, path);
      if (!std::holds_alternative<int64_t>(key)) refuse(cat(path, " (a key)"), "string");
      keys.push_back(std::get<int64_t>(key));
    }
    std::sort(keys.begin(), keys.end());
    Entries entries;
    for (const int64_t key : keys) {
      lua_pushnumber(L_, static_cast<double>(key));
      lua_rawget(L_, index);
      entries.emplace_back(key, read(-1, cat(path, "[", key, "]"), depth + 1));
      lua_pop(L_, 1);
    }
    return builder_.map(std::move(entries), false);
  }

  // Does not convert a number on the stack to a string, since lua_next() needs the key unchanged.
  Key key_at(int index, const std::string& path) {
    if (lua_type(L_, index) == LUA_TSTRING) return text_at(index);
    const bool is_number = lua_type(L_, index) == LUA_TNUMBER;
    if (!is_number || !is_exact_integer(lua_tonumber(L_, index))) {
      refuse(cat(path, " (a key)"), luaL_typename(L_, index));
    }
    return static_cast<int64_t>(lua_tonumber(L_, index));
  }

  lua_State* L_;
  Builder builder_;
  std::unordered_set<const void*> open_;
};

}  // namespace rtrain::lua
