// host/lua/unset_globals.h: globals that a script reads and that nothing sets
// (base/errors/unset_globals.lua): Lua gives nil for them and says nothing.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

struct ScriptText {
  std::string path;    // as messages name it
  std::string text;    // of the chunk
  std::string folder;  // whose modules are looked at too; "" for none
};

// Throws Error(kUser), with a line for each name, when the chunk at the top of the stack, or a
// module next to it that it requires, reads such globals. The chunk stays.
void refuse_unset_globals(lua_State* L, const ScriptText& script);

// The same of None, True and False alone, which no script means to be nil: for lines that are tried
// one by one.
void refuse_python_constants(lua_State* L);

}  // namespace rtrain::lua
