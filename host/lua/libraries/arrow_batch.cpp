#include "host/lua/libraries/arrow_batch.h"

#include <array>

namespace rtrain::lua {
namespace {

int num_rows(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(check<api::ArrowBatch>(L, 1)->num_rows));
  return 1;
}

}  // namespace

void register_arrow_batch(lua_State* L) {
  static constexpr std::array kMethods = {method<&num_rows>("num_rows")};
  register_class<api::ArrowBatch>(L, kMethods);
}

}  // namespace rtrain::lua
