#include "host/lua/state.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/base/text/text.h"
#include "host/lua/embed.h"
#include "host/lua/guard.h"
#include "host/lua/print.h"
#include "host/lua/python_advice.h"
#include "host/lua/require.h"
#include "host/lua/unset_globals.h"

namespace rtrain::lua {
namespace {

constexpr const char* kLibraryEnv = "rtrain.library_env";

int undeclared_global(lua_State* L) {
  throw Error(Code::kInternal,
              cat("undeclared global '", luaL_checkstring(L, 2), "' in library code"));
}

int read_global(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, LUA_GLOBALSINDEX);
  if (lua_isnil(L, -1)) return undeclared_global(L);
  return 1;
}

// Pushes the environment of embedded modules, which reads what _G has and refuses all else.
void create_library_env(lua_State* L) {
  lua_newtable(L);
  lua_newtable(L);
  push_function<&read_global>(L);
  lua_setfield(L, -2, "__index");
  push_function<&undeclared_global>(L);
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, kLibraryEnv);
}

void load_text(lua_State* L, const std::string& text, const std::string& chunk) {
  if (luaL_loadbuffer(L, text.data(), text.size(), chunk.c_str()) == 0) return;
  const std::string message = lua_tostring(L, -1);
  lua_pop(L, 1);
  throw Error(Code::kUser, with_python_advice(L, text, message), "(while reading the code)");
}

// Whether only rtrain may have modules below this name. Below `base` a script may have its own.
bool is_library_name(std::string_view name) {
  return name.starts_with("rtrain.") || name.starts_with("torch.") || name.starts_with("vision.") ||
         name.starts_with("text.");
}

// Indexes the nearest module above a missing one. This raises an error with the alternative, if
// there is one: torch.distributed knows what to use in place of torch.distributed.tensor.
void index_parent(lua_State* L, std::string_view name) {
  size_t end = name.rfind('.');
  while (end != std::string_view::npos && !find_module(name.substr(0, end))) {
    name = name.substr(0, end);
    end = name.rfind('.');
  }
  if (end == std::string_view::npos) return;
  push_module(L, name.substr(0, end));
  lua_pushlstring(L, name.data() + end + 1, name.size() - end - 1);
  lua_gettable(L, -2);
  lua_pop(L, 2);
}

int search_embedded(lua_State* L) {
  const char* name = luaL_checkstring(L, 1);
  const auto found = find_module(name);
  if (!found && is_library_name(name)) {
    const std::string similar = suggestion(name, embedded_modules());
    if (similar.empty()) index_parent(L, name);
    throw Error(Code::kArgument,
                cat("there is no module '", std::string_view(name), "' in this version", similar));
  }
  if (!found) {
    lua_pushfstring(L, "\n\tno module '%s' in rtrain", name);
    return 1;
  }
  load_text(L, found->text, cat(kLibraryPrefix, found->path));
  push_library_env(L);
  lua_setfenv(L, -2);
  return 1;
}

// Puts our searcher second, after package.preload: a user's file never shadows a module of rtrain.
void add_searcher(lua_State* L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaders");
  for (int i = static_cast<int>(lua_objlen(L, -1)); i >= 2; --i) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  push_function<&search_embedded>(L);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}

// Sets the global `arg`: arg[0] is what runs, arg[1] … are its arguments.
void set_arguments(lua_State* L, const std::string& zero, const std::vector<std::string>& args) {
  lua_createtable(L, static_cast<int>(args.size()), 1);
  lua_pushlstring(L, zero.data(), zero.size());
  lua_rawseti(L, -2, 0);
  for (size_t i = 0; i < args.size(); ++i) {
    lua_pushlstring(L, args[i].data(), args[i].size());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setglobal(L, "arg");
}

// From here on the state knows which functions were compiled as calling themselves.
void watch_recursion(lua_State* L) {
  push_module(L, "base.errors.recursion");
  lua_pop(L, 1);
}

// Calls the chunk at the top of the stack with the arguments as `...`. When a script does not find
// something, that is the script's error, not a wrong use of the command.
void call_with(lua_State* L, const std::vector<std::string>& args) {
  luaL_checkstack(L, static_cast<int>(args.size()), "too many arguments");
  for (const std::string& argument : args) lua_pushlstring(L, argument.data(), argument.size());
  try {
    protected_call(L, static_cast<int>(args.size()), 0);
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;
    throw Error(Code::kUser, e.message(), e.traceback());
  }
}

}  // namespace

State::State() : L_(luaL_newstate()) {
  if (L_ == nullptr) throw Error(Code::kOutOfMemory, "cannot create a Lua state");
  luaL_openlibs(L_);
  set_main_state(L_);
  create_library_env(L_);
  add_searcher(L_);
  open_errors(L_);
  add_print(L_);
  watch_recursion(L_);
}

State::~State() { lua_close(L_); }

void State::preload(const char* name, lua_CFunction open) {
  lua_getglobal(L_, "package");
  lua_getfield(L_, -1, "preload");
  lua_pushcfunction(L_, open);
  lua_setfield(L_, -2, name);
  lua_pop(L_, 2);
}

void push_library_env(lua_State* L) { lua_getfield(L, LUA_REGISTRYINDEX, kLibraryEnv); }

void add_script_folder(lua_State* L, const std::string& folder) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  const std::string path = cat(folder, "/?.lua;", folder, "/?/init.lua;", lua_tostring(L, -1));
  lua_pushlstring(L, path.data(), path.size());
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

namespace {

// Closes the file before the script runs, since child processes of the script would inherit it.
std::string read_script(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(path, ignored)) {
    throw Error(Code::kUsage,
                cat("cannot read ", path, ": ", in ? "it is a folder" : std::strerror(errno)));
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Returns the error with its line of the source, which is shown before the frames.
Error with_excerpt(lua_State* L, const Error& error) {
  const int top = lua_gettop(L);
  std::string excerpt;
  try {
    push_module_function(L, "base.errors.excerpt", "of");
    lua_pushlstring(L, error.message().data(), error.message().size());
    if (lua_pcall(L, 1, 1, 0) == 0 && lua_isstring(L, -1) != 0) excerpt = lua_tostring(L, -1);
  } catch (const Error&) {
    // For example, memory has run out. The error itself matters more than its excerpt.
  }
  lua_settop(L, top);
  if (excerpt.empty()) return error;
  const std::string& frames = error.traceback();
  return Error(error.code(), error.message(), cat(excerpt, frames.empty() ? "" : "\n", frames));
}

}  // namespace

void load_file(lua_State* L, const std::string& path, const std::vector<std::string>& args) {
  std::string text = read_script(path);
  // LuaJIT skips a "#!" line only in luaL_loadfile. The newline stays, so that line numbers are
  // right.
  if (text.starts_with('#')) text.erase(0, text.find('\n'));

  set_arguments(L, path, args);
  const auto folder = std::filesystem::absolute(path).parent_path().lexically_normal();
  add_script_folder(L, folder.string());
  try {
    load_text(L, text, cat("@", path));
    refuse_unset_globals(L, {.path = path, .text = text, .folder = folder.string()});
  } catch (const Error& e) {
    throw with_excerpt(L, e);
  }
}

void run_file(lua_State* L, const std::string& path, const std::vector<std::string>& args) {
  load_file(L, path, args);
  try {
    call_with(L, args);
  } catch (const Error& e) {
    throw with_excerpt(L, e);
  }
}

void run_code(lua_State* L, const std::string& code, const std::vector<std::string>& args) {
  set_arguments(L, "-e", args);
  load_text(L, code, "=(command line)");
  refuse_unset_globals(L, {.path = "(command line)", .text = code, .folder = ""});
  call_with(L, args);
}

}  // namespace rtrain::lua
