// host/lua/guard.h: the only passage between C++ and Lua: C++ exceptions become Lua errors, Lua
// errors become rtrain::Error.
//
// A C function given to Lua is wrapped in guarded<>; a call into Lua from outside of Lua goes
// through protected_call. host/lua/README.md lists the exceptions.
#pragma once

#include <exception>

#include "host/base/error.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

// Pushes an error object: a table with code, message, where and traceback that prints as its
// message. `where` is the user's line: the first Lua frame outside the embedded modules.
void push_error(lua_State* L, const Error& error);

// Says how exceptions of foreign libraries become an Error. The engine has its own version, which
// knows c10::Error.
struct HostTranslate {
  static Error from(const std::exception& e);
};

template <auto Fn, class Translate = HostTranslate>
int guarded(lua_State* L) {
  try {
    return Fn(L);  // Lua errors pass through: they are not std::exception
  } catch (const Error& e) {
    push_error(L, e);
  } catch (const std::exception& e) {
    push_error(L, Translate::from(e));
  }
  return lua_error(L);  // called after the catch blocks have ended
}

// Pushes the guarded function as a closure over the values at the top of the stack.
template <auto Fn, class Translate = HostTranslate>
void push_function(lua_State* L, int num_upvalues = 0) {
  lua_pushcclosure(L, &guarded<Fn, Translate>, num_upvalues);
}

// Calls the function below its nargs arguments. When it raises, throws an Error with code, message,
// position and traceback.
void protected_call(lua_State* L, int nargs, int nresults);

// Returns the user's position, "train.lua:12": that of the first Lua frame from `level` on outside
// the embedded modules; "" without one.
std::string user_position(lua_State* L, int level = 0);

// Sets up the error object's metatable and `base.errors` in a new state.
//   errors.raise(code, message): raises at the user's line.  errors.wrap(value): any error value as
//   an error object. errors.is_error(value).  errors.suggestion(name, candidates): ": did you mean
//   'x'?" or "".
void open_errors(lua_State* L);

// Converts the error object or other error value at the index.
Error to_error(lua_State* L, int index);

}  // namespace rtrain::lua
