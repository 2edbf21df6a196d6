#include "host/engine/memory/open.h"

#include "host/engine/runtime/open.h"

namespace rtrain::engine {

void open_memory(lua_State* L) {
  for (const auto& functions : {scope_functions(), stats_functions()}) {
    lua::add_functions(L, functions);
  }
}

}  // namespace rtrain::engine
