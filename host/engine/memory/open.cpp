#include "host/engine/memory/open.h"

#include "host/engine/engine.h"

namespace rtrain {

void open_memory(lua_State* L) {
  for (const auto& functions : {scope_functions(), stats_functions()}) {
    for (const Method& f : functions) {
      lua_pushcfunction(L, f.function());
      lua_setfield(L, -2, f.name());
    }
  }
}

}  // namespace rtrain
