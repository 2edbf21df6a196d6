#include "host/lua/guard.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "host/base/text/text.h"
#include "host/lua/embed.h"
#include "host/lua/sorted_keys.h"
#include "host/lua/traceback.h"

namespace rtrain::lua {
namespace {

constexpr const char* kErrorMeta = "rtrain.Error";

std::string field(lua_State* L, int index, const char* name) {
  lua_getfield(L, index, name);
  size_t size = 0;
  const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : nullptr;
  std::string out(text == nullptr ? "" : text, size);
  lua_pop(L, 1);
  return out;
}

bool is_error_object(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_getmetatable(L, index) == 0) return false;
  luaL_getmetatable(L, kErrorMeta);
  const bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 2);
  return same;
}

void set_field(lua_State* L, const char* name, const std::string& text) {
  if (text.empty()) return;
  lua_pushlstring(L, text.data(), text.size());
  lua_setfield(L, -2, name);
}

void push_error_object(lua_State* L, std::string_view code, const std::string& message,
                       const std::string& where, const std::string& traceback) {
  lua_createtable(L, 0, 4);
  set_field(L, "code", std::string(code));
  set_field(L, "message", message);
  set_field(L, "where", where);
  set_field(L, "traceback", traceback);
  luaL_getmetatable(L, kErrorMeta);
  lua_setmetatable(L, -2);
}

std::string located(lua_State* L, int index) {
  const std::string where = field(L, index, "where");
  const std::string message = field(L, index, "message");
  return where.empty() ? message : cat(where, ": ", message);
}

int error_tostring(lua_State* L) {
  const std::string text = located(L, 1);
  lua_pushlstring(L, text.data(), text.size());
  return 1;
}

// Returns the operation that failed according to the message: "linear: …" → "linear".
std::string operation_of(std::string_view message) {
  const std::string_view name = message.substr(0, message.find(':'));
  const bool is_name =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name && name.size() < message.size() ? std::string(name) : "";
}

// Makes an Error of an error that a line of an embedded module raised by itself
// ("rtrain://torch/nn.lua:7: attempt to …"). Usually the user's argument caused it, so it is
// reported at the user's line.
Error library_error(std::string_view text) {
  const size_t end = text.find(": ");
  const std::string_view position = text.substr(0, end);
  const std::string_view message = end == text.npos ? text : text.substr(end + 2);
  return Error(Code::kUser, cat(message, " (at ", position, ")"));
}

// Messages of Lua's functions in C begin with no position: "bad argument #1 to '?' (…)". Nor do
// stack overflows, which may happen between two lines of the script.
bool lacks_position(std::string_view message) {
  return message.starts_with("bad argument #") || message == "stack overflow" ||
         message == "C stack overflow";
}

// "error() was called with a table: {code = 7, …}": a table's contents say more than its address.
std::string raised_text(lua_State* L, int index) {
  constexpr int kMostFields = 8;
  constexpr size_t kMostBytes = 80;
  std::string out = cat("error() was called with a ", luaL_typename(L, index));
  if (lua_type(L, index) != LUA_TTABLE) return out;
  push_sorted_keys(L, index);
  const int keys = lua_gettop(L);
  const auto count = static_cast<int>(lua_objlen(L, keys));
  std::vector<std::string> fields;
  for (int i = 1; i <= std::min(count, kMostFields); ++i) {
    lua_rawgeti(L, keys, i);
    const std::string key = lua_type(L, -1) == LUA_TSTRING ? cat(lua_tostring(L, -1), " = ") : "";
    lua_rawget(L, index);
    const int type = lua_type(L, -1);
    const bool is_text = type == LUA_TSTRING || type == LUA_TNUMBER;
    const std::string value = is_text ? lua_tostring(L, -1)
                              : type == LUA_TBOOLEAN
                                  ? (lua_toboolean(L, -1) != 0 ? "true" : "false")
                                  : cat("a ", lua_typename(L, type));
    const std::string quote = type == LUA_TSTRING ? "'" : "";
    fields.push_back(cat(key, quote, value.substr(0, kMostBytes), quote));
    lua_pop(L, 1);
  }
  if (count > kMostFields) fields.push_back("…");
  lua_settop(L, keys - 1);
  return cat(out, ": {", join(fields, ", "), "}");
}

// Returns what tostring gives. After a stack overflow no function can be called, so strings are
// returned as they are.
std::string printed_text(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) {
    lua_getglobal(L, "tostring");
    lua_pushvalue(L, index);
    if (lua_pcall(L, 1, 1, 0) != 0 || lua_type(L, -1) != LUA_TSTRING) {
      return "(error object that does not print)";
    }
    index = -1;
  }
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return std::string(text, size);
}

// lua_pcall's message handler makes any error value an error object with a traceback. A string
// "file.lua:3: …" keeps the position that it begins with.
int traceback_handler(lua_State* L) {
  if (is_error_object(L, 1)) {
    lua_getfield(L, 1, "traceback");
    if (lua_isnil(L, -1)) {
      const Traceback traceback = make_traceback(L, 1, operation_of(field(L, 1, "message")));
      lua_pushvalue(L, 1);
      set_field(L, "traceback", traceback.text);
    }
    lua_settop(L, 1);
    return 1;
  }
  // The text of a table or function would be its address, which differs from run to run.
  const bool is_plain = lua_type(L, 1) < LUA_TTABLE && lua_type(L, 1) != LUA_TLIGHTUSERDATA;
  const bool prints = is_plain || luaL_getmetafield(L, 1, "__tostring") != 0;
  const std::string message = prints ? printed_text(L, 1) : raised_text(L, 1);
  const Traceback traceback = make_traceback(L, 1, "");
  if (!traceback.slip.empty()) {
    push_error_object(L, code_name(Code::kArgument), traceback.slip, traceback.where,
                      traceback.text);
  } else if (is_library_source("@" + message)) {
    const Error error = library_error(with_hint(L, 1, message));
    push_error_object(L, code_name(error.code()), error.message(), traceback.where, traceback.text);
  } else {
    // A string has the position that error() put before it.
    push_error_object(L, code_name(Code::kUser), with_hint(L, 1, message),
                      !prints || lacks_position(message) ? traceback.where : "", traceback.text);
  }
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "value");
  return 1;
}

int errors_raise(lua_State* L) {
  const auto code = code_from_name(luaL_checkstring(L, 1));
  if (!code) throw Error(Code::kInternal, cat("unknown error code '", lua_tostring(L, 1), "'"));
  throw Error(*code, luaL_checkstring(L, 2));
}

int errors_wrap(lua_State* L) {
  lua_settop(L, 1);
  return traceback_handler(L);
}

int errors_is_error(lua_State* L) {
  lua_pushboolean(L, is_error_object(L, 1));
  return 1;
}

int errors_suggestion(lua_State* L) {
  const std::string name = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  std::vector<std::string> candidates;
  for (int i = 1; lua_rawgeti(L, 2, i), lua_type(L, -1) == LUA_TSTRING; ++i) {
    candidates.emplace_back(lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  const std::string text = suggestion(name, candidates);
  lua_pushlstring(L, text.data(), text.size());
  return 1;
}

int open_errors_module(lua_State* L) {
  static constexpr luaL_Reg kFunctions[] = {{"raise", &guarded<&errors_raise>},
                                            {"wrap", &guarded<&errors_wrap>},
                                            {"is_error", &guarded<&errors_is_error>},
                                            {"suggestion", &guarded<&errors_suggestion>},
                                            {nullptr, nullptr}};
  lua_newtable(L);
  luaL_register(L, nullptr, kFunctions);
  return 1;
}

}  // namespace

Error HostTranslate::from(const std::exception& e) { return error_of(e); }

std::string user_position(lua_State* L, int level) {
  lua_Debug frame;
  for (; lua_getstack(L, level, &frame) != 0; ++level) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline < 0 || is_library_source(frame.source)) continue;
    return cat(std::string_view(frame.short_src), ":", frame.currentline);
  }
  return {};
}

void push_error(lua_State* L, const Error& error) {
  // An error that already has a traceback got it where it was raised.
  const Traceback traceback = error.traceback().empty()
                                  ? make_traceback(L, 0, operation_of(error.message()))
                                  : Traceback{.where = "", .text = error.traceback(), .slip = ""};
  const bool is_slip = !traceback.slip.empty();
  push_error_object(L, code_name(is_slip ? Code::kArgument : error.code()),
                    is_slip ? traceback.slip : error.message(), traceback.where, traceback.text);
}

Error to_error(lua_State* L, int index) {
  if (!is_error_object(L, index)) {
    const char* text = lua_tostring(L, index);
    const std::string message = text == nullptr ? "(error value is not a string)" : text;
    const std::string place = message == "stack overflow" ? recursion_place(L) : "";
    return Error(Code::kUser, place.empty() ? message : cat(place, ": ", message));
  }
  if (index < 0) index = lua_gettop(L) + index + 1;
  const Code code = code_from_name(field(L, index, "code")).value_or(Code::kInternal);
  return Error(code, located(L, index), field(L, index, "traceback"));
}

void protected_call(lua_State* L, int nargs, int nresults) {
  const int base = lua_gettop(L) - nargs;
  lua_pushcfunction(L, &traceback_handler);
  lua_insert(L, base);
  const int status = lua_pcall(L, nargs, nresults, base);
  lua_remove(L, base);
  if (status == 0) return;
  const Error error = status == LUA_ERRMEM ? Error(Code::kOutOfMemory, "not enough memory in Lua")
                                           : to_error(L, -1);
  lua_pop(L, 1);
  throw error;
}

void open_errors(lua_State* L) {
  luaL_newmetatable(L, kErrorMeta);
  lua_pushcfunction(L, &error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, &open_errors_module);
  lua_setfield(L, -2, "base.errors");
  lua_pop(L, 2);
}

}  // namespace rtrain::lua
