#include "host/lua/convert.h"

#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/lua/null.h"
#include "host/lua/table_reader.h"

namespace rtrain::lua {
namespace {

// Returns the name of an object's class, "Tensor", "Linear"; "" for a value without a class.
std::string class_name(lua_State* L, int index) {
  if (lua_getmetatable(L, index) == 0) return "";
  lua_getfield(L, -1, "__name");
  const std::string name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 2);
  return name.substr(name.rfind('.') + 1);
}

// Whether it is an nn.Module (modules/torch/nn/module/base.lua).
bool is_module(lua_State* L, int index) {
  if (lua_getmetatable(L, index) == 0) return false;
  lua_getfield(L, -1, "__own_names");
  const bool out = lua_isfunction(L, -1) != 0;
  lua_pop(L, 2);
  return out;
}

[[noreturn]] void refuse_object(const std::string& path, const std::string& name,
                                std::string_view instead) {
  throw Error(Code::kArgument, cat(path, ": a ", name, " is not plain data: ", instead));
}

class ValueBuilder {
 public:
  using Node = Value;
  static constexpr std::string_view kHolds =
      "is not plain data (nil, boolean, number, string, list, map)";

  Value list(List items) { return items; }

  Value map(std::vector<Map::Entry> entries, bool /*ordered*/) {
    Map out;
    for (auto& [key, value] : entries) out.set(std::move(key), std::move(value));
    return out;
  }

  std::optional<Value> other(lua_State* L, int index, const std::string& path) {
    if (lua_type(L, index) == LUA_TFUNCTION) return std::nullopt;
    if (is_null(L, index)) return Value();
    const std::string name = class_name(L, index);
    if (name == "Tensor") {
      refuse_object(path, name, "x:item() is the number in it, x:tolist() a list of its numbers");
    }
    if (!name.empty()) refuse_object(path, name, "it cannot leave its process");
    return std::nullopt;
  }

  void check_table(lua_State* L, int index, const std::string& path) {
    if (!is_module(L, index)) return;
    refuse_object(path, class_name(L, index),
                  "torch.save its state_dict() into a checkpoint, or report numbers of it");
  }

  static Value large(uint64_t number) { return Value::from_unsigned(number); }

  std::optional<Value> known(const void*) const { return std::nullopt; }
  void keep(const void*, const Value&) {}
};

// Pushes the number that LuaJIT writes like this, as the value of a chunk that returns it.
void push_written(lua_State* L, const std::string& number) {
  if (luaL_loadstring(L, cat("return ", number).c_str()) != 0) {
    throw Error(Code::kInternal, lua_tostring(L, -1));
  }
  lua_call(L, 0, 1);
}

// A number beyond 2^53 becomes an int64 cdata, since a Lua number would lose digits.
void push_int(lua_State* L, int64_t number) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (number >= -kExact && number <= kExact) {
    lua_pushnumber(L, static_cast<double>(number));
    return;
  }
  push_written(L, number == INT64_MIN ? "-9223372036854775807LL-1LL" : cat(number, "LL"));
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
  return TableReader(L, ValueBuilder()).read(index, std::string(what));
}

void push_value(lua_State* L, const Value& value) {
  luaL_checkstack(L, 8, "value nested too deeply");
  if (value.is_nil()) {
    lua_pushnil(L);
  } else if (value.is_bool()) {
    lua_pushboolean(L, value.as_bool() ? 1 : 0);
  } else if (value.is_int()) {
    push_int(L, value.as_int());
  } else if (value.is_large()) {
    push_written(L, cat(value.as_large(), "ULL"));
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

}  // namespace rtrain::lua
