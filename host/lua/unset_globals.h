// host/lua/unset_globals.h: finds globals that a script reads and never sets
// (base/errors/unset_globals.lua): Lua gives nil for them and says nothing.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

struct ScriptText {
  std::string path;    // as messages name it
  std::string text;    // of the chunk
  std::string folder;  // its modules are looked at too; "" for none
};

// Throws Error(kUser), with a line for each name, when the chunk at the top of the stack, or a
// module next to it that it requires, reads such globals. The chunk stays.
void refuse_unset_globals(lua_State* L, const ScriptText& script);

// Looks only for None, True and False, which a script never means to be nil. For a prompt, where a
// line may set the globals of the next one.
void refuse_python_constants(lua_State* L);

}  // namespace rtrain::lua
