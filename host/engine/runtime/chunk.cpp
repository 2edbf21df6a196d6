#include "host/engine/runtime/chunk.h"

#include <string>

#include "host/base/error.h"

namespace rtrain::engine {

void run_chunk(lua_State* L, const char* text, int nargs) {
  if (luaL_loadbuffer(L, text, std::char_traits<char>::length(text), "@rtrain://torch/tensor") !=
      0) {
    throw Error(Code::kInternal, lua_tostring(L, -1));
  }
  lua_insert(L, -nargs - 1);
  lua_call(L, nargs, 1);
}

}  // namespace rtrain::engine
