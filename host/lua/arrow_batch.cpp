#include "host/lua/arrow_batch.h"

namespace rtrain {

int arrow_batch_num_rows(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(check<ArrowBatch>(L, 1)->num_rows));
  return 1;
}

}  // namespace rtrain
