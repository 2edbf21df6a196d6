#include "host/engine/tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/tensor.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"

namespace rtrain {
namespace {

constexpr int kCdata = LUA_TTHREAD + 2;  // LuaJIT's type number of FFI objects
constexpr int kMaxDepth = 60;
constexpr double kMaxExactInteger = 0x1p53;

bool has_meta(lua_State* L, int index, const char* name) {
  if (lua_getmetatable(L, index) == 0) return false;
  luaL_getmetatable(L, name);
  const bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 2);
  return same;
}

std::string text_at(lua_State* L, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return std::string(text, size);
}

class Reader {
 public:
  explicit Reader(lua_State* L) : L_(L) {}

  Tree read(int index, const std::string& path, int depth) {
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
        return text_at(L_, index);
      case LUA_TTABLE:
        return table(index, path, depth);
      case kCdata:
        return int64(index, path);
      default:
        break;
    }
    if (lua_touserdata(L_, index) == vm(L_).none) return {};
    if (const at::Tensor* tensor = test_tensor(L_, index)) {
      if (!tensor->defined()) throw Error(Code::kArgument, cat(path, ": this Tensor was released"));
      return *tensor;
    }
    refuse(path, luaL_typename(L_, index));
  }

 private:
  [[noreturn]] static void refuse(const std::string& path, std::string_view type) {
    throw Error(Code::kArgument, cat(path, ": a ", type, " cannot be stored here (nil, boolean, ",
                                     "number, string, tensor, list or map of these)"));
  }

  static Tree number(double v) {
    const bool integral =
        std::floor(v) == v && std::abs(v) <= kMaxExactInteger && !(v == 0 && std::signbit(v));
    if (integral) return static_cast<int64_t>(v);
    return v;
  }

  // An int64 cdata prints as "5LL"; every other cdata prints differently.
  Tree int64(int index, const std::string& path) {
    lua_getglobal(L_, "tostring");
    lua_pushvalue(L_, index);
    lua_call(L_, 1, 1);
    const std::string text = text_at(L_, -1);
    lua_pop(L_, 1);
    if (!text.ends_with("LL") || text.ends_with("ULL")) refuse(path, "cdata");
    return static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  }

  Tree table(int index, const std::string& path, int depth) {
    const void* identity = lua_topointer(L_, index);
    if (const auto known = known_.find(identity); known != known_.end()) return known->second;
    if (depth > kMaxDepth || !open_.insert(identity).second) {
      throw Error(Code::kArgument, cat(path, ": nested too deeply, or a table within itself"));
    }
    luaL_checkstack(L_, 8, "too deep");
    Tree out = fresh_table(index, path, depth);
    open_.erase(identity);
    known_.emplace(identity, out);
    return out;
  }

  Tree fresh_table(int index, const std::string& path, int depth) {
    if (has_meta(L_, index, kListMeta)) return list(index, path, depth);
    if (has_meta(L_, index, kIntMapMeta)) return int_map(index, path, depth);
    if (luaL_getmetafield(L_, index, "__order") != 0) return ordered_map(index, path, depth);
    if (lua_objlen(L_, index) > 0) return list(index, path, depth);
    return map(index, path, depth);
  }

  Tree list(int index, const std::string& path, int depth) {
    const size_t size = lua_objlen(L_, index);
    size_t count = 0;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) ++count;
    if (count != size) {
      throw Error(Code::kArgument, cat(path, ": a table with both list items and named fields"));
    }
    auto out = std::make_shared<TreeList>();
    out->items.reserve(size);
    for (size_t i = 1; i <= size; ++i) {
      lua_rawgeti(L_, index, static_cast<int>(i));
      out->items.push_back(read(-1, cat(path, "[", i, "]"), depth + 1));
      lua_pop(L_, 1);
    }
    return out;
  }

  Tree map(int index, const std::string& path, int depth) {
    std::vector<std::string> keys;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      if (lua_type(L_, -2) != LUA_TSTRING) refuse(cat(path, " (a key)"), luaL_typename(L_, -2));
      keys.push_back(text_at(L_, -2));
    }
    std::sort(keys.begin(), keys.end());
    auto out = std::make_shared<TreeMap>();
    for (const std::string& key : keys) {
      lua_pushlstring(L_, key.data(), key.size());
      lua_rawget(L_, index);
      out->entries.emplace_back(key, read(-1, cat(path, ".", key), depth + 1));
      lua_pop(L_, 1);
    }
    return out;
  }

  // The metafield on the stack is a function: table → list of its keys in order.
  Tree ordered_map(int index, const std::string& path, int depth) {
    lua_pushvalue(L_, index);
    lua_call(L_, 1, 1);
    const int keys = lua_gettop(L_);
    auto out = std::make_shared<TreeMap>();
    out->ordered = true;
    for (size_t i = 1; i <= lua_objlen(L_, keys); ++i) {
      lua_rawgeti(L_, keys, static_cast<int>(i));
      const Key key = ordered_key(path);
      lua_pushvalue(L_, -1);
      lua_gettable(L_, index);
      out->entries.emplace_back(key, read(-1, cat(path, ".", text_at(L_, -2)), depth + 1));
      lua_pop(L_, 2);
    }
    lua_pop(L_, 1);
    return out;
  }

  Key ordered_key(const std::string& path) {
    if (lua_type(L_, -1) == LUA_TSTRING) return text_at(L_, -1);
    const double number = lua_type(L_, -1) == LUA_TNUMBER ? lua_tonumber(L_, -1) : 0.5;
    if (std::floor(number) != number) refuse(cat(path, " (a key)"), luaL_typename(L_, -1));
    return static_cast<int64_t>(number);
  }

  Tree int_map(int index, const std::string& path, int depth) {
    std::vector<int64_t> keys;
    for (lua_pushnil(L_); lua_next(L_, index) != 0; lua_pop(L_, 1)) {
      if (lua_type(L_, -2) != LUA_TNUMBER) refuse(cat(path, " (a key)"), luaL_typename(L_, -2));
      keys.push_back(static_cast<int64_t>(lua_tonumber(L_, -2)));
    }
    std::sort(keys.begin(), keys.end());
    auto out = std::make_shared<TreeMap>();
    for (const int64_t key : keys) {
      lua_pushnumber(L_, static_cast<double>(key));
      lua_rawget(L_, index);
      out->entries.emplace_back(key, read(-1, cat(path, "[", key, "]"), depth + 1));
      lua_pop(L_, 1);
    }
    return out;
  }

  lua_State* L_;
  std::unordered_map<const void*, Tree> known_;
  std::unordered_set<const void*> open_;
};

// Pushes nodes; a table at the bottom of the writer's stack region remembers the tables of nodes
// already pushed.
class Writer {
 public:
  explicit Writer(lua_State* L) : L_(L) {
    lua_newtable(L_);
    known_ = lua_gettop(L_);
  }

  void push(const Tree& tree) {
    luaL_checkstack(L_, 8, "value nested too deeply");
    std::visit([this](const auto& value) { push_one(value); }, tree);
  }

  void finish() { lua_remove(L_, known_); }

 private:
  void push_one(std::monostate) { lua_pushnil(L_); }
  void push_one(bool value) { lua_pushboolean(L_, value ? 1 : 0); }
  void push_one(int64_t value) { push_value(L_, Value(value)); }
  void push_one(double value) { lua_pushnumber(L_, value); }
  void push_one(const std::string& value) { lua_pushlstring(L_, value.data(), value.size()); }
  void push_one(const at::Tensor& value) { push_tensor(L_, value); }

  void push_one(const std::shared_ptr<TreeList>& list) {
    if (push_known(list.get())) return;
    lua_createtable(L_, static_cast<int>(list->items.size()), 0);
    remember(list.get());
    for (size_t i = 0; i < list->items.size(); ++i) {
      push_item(list->items[i]);
      lua_rawseti(L_, -2, static_cast<int>(i) + 1);
    }
    if (list->items.empty()) mark(kListMeta);
  }

  void push_one(const std::shared_ptr<TreeMap>& map) {
    if (push_known(map.get())) return;
    if (map->ordered) {
      lua_getglobal(L_, "require");
      lua_pushliteral(L_, "rtrain.ordered");
      lua_call(L_, 1, 1);
      lua_getfield(L_, -1, "new");
      lua_remove(L_, -2);
      lua_call(L_, 0, 1);
    } else {
      lua_createtable(L_, 0, static_cast<int>(map->entries.size()));
    }
    remember(map.get());
    bool integer_keys = false;
    for (const auto& [key, item] : map->entries) {
      integer_keys |= std::holds_alternative<int64_t>(key);
      std::visit([this](const auto& value) { push_one(value); }, key);
      push(item);
      lua_settable(L_, -3);  // not raw: an ordered map notes the order
    }
    if (integer_keys && !map->ordered) mark(kIntMapMeta);
  }

  // A list keeps its length: None is torch.none in it.
  void push_item(const Tree& item) {
    if (!std::holds_alternative<std::monostate>(item)) return push(item);
    lua_getfield(L_, LUA_REGISTRYINDEX, kNoneKey);
  }

  bool push_known(const void* node) {
    lua_pushlightuserdata(L_, const_cast<void*>(node));
    lua_rawget(L_, known_);
    if (!lua_isnil(L_, -1)) return true;
    lua_pop(L_, 1);
    return false;
  }

  void remember(const void* node) {
    lua_pushlightuserdata(L_, const_cast<void*>(node));
    lua_pushvalue(L_, -2);
    lua_rawset(L_, known_);
  }

  void mark(const char* meta) {
    luaL_newmetatable(L_, meta);
    lua_setmetatable(L_, -2);
  }

  lua_State* L_;
  int known_ = 0;
};

}  // namespace

Tree to_tree(lua_State* L, int index, std::string_view what) {
  return Reader(L).read(index, std::string(what), 0);
}

void push_tree(lua_State* L, const Tree& tree) {
  Writer writer(L);
  writer.push(tree);
  writer.finish();
}

}  // namespace rtrain
