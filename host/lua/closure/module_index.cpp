#include "host/lua/closure/module_index.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "host/base/text/text.h"
#include "host/lua/convert.h"
#include "host/lua/embed.h"

namespace rtrain::lua {
namespace {

constexpr std::array kStandardModules = {"bit",     "coroutine",   "debug",       "ffi",
                                         "io",      "jit",         "math",        "os",
                                         "package", "string",      "table",       "jit.util",
                                         "jit.opt", "jit.profile", "table.clear", "table.new"};

constexpr std::array kBaseFunctions = {
    "assert",       "collectgarbage", "dofile",   "error",    "gcinfo",     "getfenv",
    "getmetatable", "ipairs",         "load",     "loadfile", "loadstring", "module",
    "newproxy",     "next",           "pairs",    "pcall",    "print",      "rawequal",
    "rawget",       "rawlen",         "rawset",   "require",  "select",     "setfenv",
    "setmetatable", "tonumber",       "tostring", "type",     "unpack",     "xpcall"};

bool is_standard(const std::string& name) {
  return std::find(kStandardModules.begin(), kStandardModules.end(), name) !=
         kStandardModules.end();
}

void push_package_field(lua_State* L, const char* name) {
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "package");
  lua_getfield(L, -1, name);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

// Whether C++ opens the module: torch._C, base._system.
bool is_native(lua_State* L, const std::string& name) {
  push_package_field(L, "preload");
  lua_getfield(L, -1, name.c_str());
  const bool out = lua_iscfunction(L, -1) != 0;
  lua_pop(L, 2);
  return out;
}

// Whether the executable holds the module. `base` is not reserved as a whole: a script may have a
// folder of that name.
bool is_library(lua_State* L, const std::string& name) {
  for (const std::string_view prefix : {"rtrain", "torch", "vision", "text"}) {
    if (name == prefix || name.starts_with(cat(prefix, "."))) return true;
  }
  return is_standard(name) || is_native(L, name) || find_module(name).has_value();
}

// Returns the file that require would load from this search path ("path" or "cpath"), or "".
std::string search_file(lua_State* L, const std::string& name, const char* which) {
  push_package_field(L, "searchpath");
  lua_pushlstring(L, name.data(), name.size());
  push_package_field(L, which);
  lua_call(L, 2, 1);
  std::string out = lua_isstring(L, -1) != 0 ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  return out;
}

// Sets the text that came with this state's closure. Returns false when the module did not come
// with a closure.
bool travelled_text(lua_State* L, UserModule& module) {
  lua_getfield(L, LUA_REGISTRYINDEX, kModuleTexts);
  bool found = false;
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, module.name.c_str());
    found = lua_istable(L, -1);
    if (found) {
      lua_rawgeti(L, -1, 1);
      lua_rawgeti(L, -2, 2);
      size_t size = 0;
      const char* text = lua_tolstring(L, -1, &size);
      module.text.assign(text, size);
      module.chunk = lua_tostring(L, -2);
      lua_pop(L, 2);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return found;
}

bool is_weak(lua_State* L, int index) {
  if (luaL_getmetafield(L, index, "__mode") == 0) return false;
  lua_pop(L, 1);
  return true;
}

}  // namespace

ModuleIndex::ModuleIndex(lua_State* L) : L_(L) {
  luaL_checkstack(L, 30, "no stack for the module index");
  lua_newtable(L);
  numbers_ = Ref(L);
  lua_newtable(L);
  objects_ = Ref(L);
  add_roots();
  for (size_t i = 0; i < entries_.size(); ++i) descend(static_cast<int>(i));
}

int ModuleIndex::find(int index) const {
  lua_pushvalue(L_, index);
  numbers_.push(L_);
  lua_insert(L_, -2);
  lua_rawget(L_, -2);
  const int out = lua_isnil(L_, -1) ? -1 : static_cast<int>(lua_tointeger(L_, -1));
  lua_pop(L_, 2);
  return out;
}

ModulePath ModuleIndex::path(int entry) const {
  ModulePath out;
  for (; entries_[entry].parent >= 0; entry = entries_[entry].parent) {
    out.steps.push_back(entries_[entry].step);
  }
  std::reverse(out.steps.begin(), out.steps.end());
  out.module = entries_[entry].module;
  return out;
}

const ModuleIndex::CellHome* ModuleIndex::find_cell(void* cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? nullptr : &found->second;
}

void ModuleIndex::push(int entry) const {
  objects_.push(L_);
  lua_rawgeti(L_, -1, entry);
  lua_remove(L_, -2);
}

void ModuleIndex::add(Entry entry) {
  const int type = lua_type(L_, -1);
  const bool has_identity = type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA ||
                            type == LUA_TLIGHTUSERDATA;
  if (!has_identity || find(-1) >= 0 || (type == LUA_TFUNCTION && is_script_function(-1))) {
    lua_pop(L_, 1);
    return;
  }
  const int number = static_cast<int>(entries_.size());
  entries_.push_back(std::move(entry));
  numbers_.push(L_);
  lua_pushvalue(L_, -2);
  lua_pushinteger(L_, number);
  lua_rawset(L_, -3);
  objects_.push(L_);
  lua_pushvalue(L_, -3);
  lua_rawseti(L_, -2, number);
  lua_pop(L_, 3);
}

bool ModuleIndex::is_script_function(int index) const {
  if (lua_iscfunction(L_, index) != 0) return false;
  lua_Debug info;
  lua_pushvalue(L_, index);
  lua_getinfo(L_, ">S", &info);
  return !is_library_source(info.source) && !user_chunks_.contains(info.source);
}

void ModuleIndex::add_roots() {
  // The tables that lead to all other objects get their names first. The walk never enters them.
  lua_pushvalue(L_, LUA_GLOBALSINDEX);
  add({.step = ModuleStep(), .module = "_G", .closed = true});
  std::vector<std::string> names;
  lua_getfield(L_, LUA_REGISTRYINDEX, "_LOADED");
  for (lua_pushnil(L_); lua_next(L_, -2) != 0; lua_pop(L_, 1)) {
    if (lua_type(L_, -2) == LUA_TSTRING) names.emplace_back(lua_tostring(L_, -2));
  }
  lua_pop(L_, 1);
  std::sort(names.begin(), names.end());
  std::stable_partition(names.begin(), names.end(), is_standard);
  for (const std::string& name : names) add_module(name);
  for (const char* name : {"loaded", "preload", "loaders"}) {
    push_package_field(L_, name);
    lua_getfield(L_, LUA_REGISTRYINDEX, "_LOADED");
    lua_getfield(L_, -1, "package");
    const int package = find(-1);
    lua_pop(L_, 2);
    add({.parent = package,
         .step = ModuleStep{StepKind::kKey, std::string(name)},
         .module = {},
         .closed = true});
  }
  add_base_functions();
  add_registry_metatables();
}

void ModuleIndex::add_module(const std::string& name) {
  if (name == "_G") return;
  const bool library = is_library(L_, name);
  if (!library && !is_user_module(name)) return;
  lua_getfield(L_, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L_, -1, name.c_str());
  lua_remove(L_, -2);
  add({.step = ModuleStep(), .module = name, .library = library});
}

// Modules without a file (the script put them into package.loaded or package.preload) travel by
// value.
bool ModuleIndex::is_user_module(const std::string& name) {
  UserModule module{.name = name, .chunk = {}, .text = {}};
  if (!travelled_text(L_, module)) {
    const std::string file = search_file(L_, name, "path");
    if (file.empty()) return !search_file(L_, name, "cpath").empty();
    std::ifstream in(file, std::ios::binary);
    module.text.assign(std::istreambuf_iterator<char>(in), {});
    module.chunk = cat("@", file);
  }
  user_chunks_.insert(module.chunk);
  user_modules_.push_back(std::move(module));
  return true;
}

void ModuleIndex::add_base_functions() {
  for (const char* name : kBaseFunctions) {
    lua_pushstring(L_, name);
    lua_rawget(L_, LUA_GLOBALSINDEX);
    if (lua_iscfunction(L_, -1) == 0) {
      lua_pop(L_, 1);
      continue;
    }
    add({.parent = 0,
         .step = ModuleStep{StepKind::kKey, std::string(name)},
         .module = {},
         .library = true});
  }
}

void ModuleIndex::add_registry_metatables() {
  for (const char* name : {kListMeta, kIntMapMeta, "rtrain.Error"}) {
    luaL_newmetatable(L_, name);
    lua_pushvalue(L_, -1);
    add({.step = ModuleStep{StepKind::kKey, std::string(name)},
         .module = cat(kRegistryModule, name),
         .closed = true});
    lua_pop(L_, 1);
  }
}

void ModuleIndex::descend(int number) {
  if (entries_[number].closed) return;
  push(number);
  const bool library = entries_[number].library;
  const bool is_private = entries_[number].is_private;
  if (lua_getmetatable(L_, -1) != 0) {
    add({.parent = number,
         .step = ModuleStep{StepKind::kMetatable, 0.0},
         .module = {},
         .library = library,
         .is_private = is_private});
  }
  if (lua_istable(L_, -1) && !is_weak(L_, lua_gettop(L_))) descend_table(number);
  if (lua_isfunction(L_, -1) && lua_iscfunction(L_, -1) == 0) descend_function(number);
  lua_pop(L_, 1);
}

void ModuleIndex::descend_table(int number) {
  std::vector<std::variant<std::string, double, bool>> keys;
  for (lua_pushnil(L_); lua_next(L_, -2) != 0; lua_pop(L_, 1)) {
    if (lua_type(L_, -1) < LUA_TTABLE && lua_type(L_, -1) != LUA_TLIGHTUSERDATA) continue;
    if (lua_type(L_, -2) == LUA_TSTRING) {
      size_t size = 0;
      const char* text = lua_tolstring(L_, -2, &size);
      keys.emplace_back(std::string(text, size));
    } else if (lua_type(L_, -2) == LUA_TNUMBER) {
      keys.emplace_back(lua_tonumber(L_, -2));
    } else if (lua_type(L_, -2) == LUA_TBOOLEAN) {
      keys.emplace_back(lua_toboolean(L_, -2) != 0);
    }
  }
  std::sort(keys.begin(), keys.end());
  const bool library = entries_[number].library;
  const bool is_private = entries_[number].is_private;
  for (auto& key : keys) {
    if (const auto* text = std::get_if<std::string>(&key)) {
      lua_pushlstring(L_, text->data(), text->size());
    } else if (const auto* n = std::get_if<double>(&key)) {
      lua_pushnumber(L_, *n);
    } else {
      lua_pushboolean(L_, std::get<bool>(key) ? 1 : 0);
    }
    lua_rawget(L_, -2);
    if (is_private && lua_isfunction(L_, -1) == 0) {
      lua_pop(L_, 1);
      continue;
    }
    add({.parent = number,
         .step = ModuleStep{StepKind::kKey, std::move(key)},
         .module = {},
         .library = library,
         .is_private = is_private});
  }
}

void ModuleIndex::descend_function(int number) {
  const bool library = entries_[number].library;
  const int function = lua_gettop(L_);
  for (int i = 1; lua_getupvalue(L_, function, i) != nullptr; ++i) {
    cells_.try_emplace(lua_upvalueid(L_, function, i), CellHome{number, i});
    add({.parent = number,
         .step = ModuleStep{StepKind::kUpvalue, static_cast<double>(i)},
         .module = {},
         .library = library,
         .is_private = !library});
  }
}

}  // namespace rtrain::lua
