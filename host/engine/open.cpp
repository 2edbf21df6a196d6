// host/engine/open.cpp: the engine's entry point.
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>

#include "host/base/host_api.h"
#include "host/lua/guard.h"

namespace {
int sum(lua_State* L) {
  lua_pushnumber(L, at::ones({static_cast<int64_t>(luaL_checknumber(L, 1))}).sum().item<double>());
  return 1;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) int rtrain_engine_open(lua_State* L,
                                                                         const rtrain::HostApi*) {
  lua_newtable(L);
  lua_pushcfunction(L, &rtrain::guarded<&sum>);
  lua_setfield(L, -2, "sum_of_ones");
  return 1;
}
