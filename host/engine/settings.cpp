// Process-wide settings of LibTorch: threads, default dtype, deterministic algorithms, what the
// build offers.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <torch/headeronly/version.h>

#include "host/engine/dtype.h"
#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/engine/scalars.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

int get_num_threads(lua_State* L) {
  lua_pushnumber(L, at::get_num_threads());
  return 1;
}

int set_num_threads(lua_State* L) {
  const auto count = to_int(L, 1);
  if (!count || *count < 1) {
    throw Error(Code::kArgument,
                cat("set_num_threads: expected a positive integer, got ", describe_value(L, 1)));
  }
  at::set_num_threads(static_cast<int>(*count));
  return 0;
}

int get_default_dtype(lua_State* L) {
  lua_pushstring(L, dtype_name(c10::get_default_dtype_as_scalartype()).c_str());
  return 1;
}

int set_default_dtype(lua_State* L) {
  const at::ScalarType dtype = parse_dtype(luaL_checkstring(L, 1));
  if (!c10::isFloatingType(dtype)) {
    throw Error(Code::kArgument,
                cat("set_default_dtype: only floating dtypes, got ", dtype_name(dtype)));
  }
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  return 0;
}

int cuda_is_available(lua_State* L) {
  lua_pushboolean(L, at::hasCUDA() ? 1 : 0);
  return 1;
}

int use_deterministic_algorithms(lua_State* L) {
  luaL_checktype(L, 1, LUA_TBOOLEAN);
  at::globalContext().setDeterministicAlgorithms(lua_toboolean(L, 1) != 0,
                                                 lua_toboolean(L, 2) != 0);
  return 0;
}

int are_deterministic_algorithms_enabled(lua_State* L) {
  lua_pushboolean(L, at::globalContext().deterministicAlgorithms() ? 1 : 0);
  return 1;
}

constexpr Method kFunctions[] = {
    torch_method<&get_num_threads>("get_num_threads"),
    torch_method<&set_num_threads>("set_num_threads"),
    torch_method<&get_default_dtype>("get_default_dtype"),
    torch_method<&set_default_dtype>("set_default_dtype"),
    torch_method<&cuda_is_available>("cuda_is_available"),
    torch_method<&use_deterministic_algorithms>("use_deterministic_algorithms"),
    torch_method<&are_deterministic_algorithms_enabled>("are_deterministic_algorithms_enabled"),
};

}  // namespace

void open_settings(lua_State* L) {
  for (const Method& f : kFunctions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
  lua_pushliteral(L, TORCH_VERSION);
  lua_setfield(L, -2, "__version__");
}

}  // namespace rtrain
