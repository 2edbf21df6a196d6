#include "host/engine/tensor/named_results.h"

#include <array>
#include <string>

#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

// Lacks min and max of aminmax, because loops call the methods x:min() and x:max().
constexpr std::array kNames = {"values",    "indices",     "U",        "S",
                               "V",         "Vh",          "Q",        "R",
                               "L",         "P",           "LU",       "LD",
                               "pivots",    "info",        "sign",     "logabsdet",
                               "inverse",   "eigenvalues", "solution", "eigenvectors",
                               "residuals", "rank",        "hist",     "singular_values",
                               "mantissa",  "exponent",    "bin_edges"};

// At [1] of the environment, tells it from environments of other userdata.
char mark;

// Leaves the table of names at the top.
void push_environment(lua_State* L, int count) {
  lua_createtable(L, 1, count);
  lua_pushlightuserdata(L, &mark);
  lua_rawseti(L, -2, 1);
}

// Sets the field of the environment at the top to the value at the index.
void set_result(lua_State* L, int index, const char* name) {
  lua_pushvalue(L, index);
  lua_setfield(L, -2, name);
}

int named_result(lua_State* L) {
  lua_settop(L, 2);
  lua_getfenv(L, 1);
  if (!lua_istable(L, 3)) return 0;
  lua_rawgeti(L, 3, 1);
  if (lua_touserdata(L, 4) != &mark) return 0;
  lua_pushvalue(L, 2);
  lua_rawget(L, 3);
  return 1;
}

}  // namespace

void name_results(lua_State* L, std::initializer_list<const char*> names) {
  const int count = static_cast<int>(names.size());
  const int first = lua_gettop(L) - count + 1;
  if (test_tensor(L, first) == nullptr) return;
  push_environment(L, count);
  int index = first;
  for (const char* name : names) set_result(L, index++, name);
  lua_setfenv(L, first);
}

void name_results(lua_State* L, const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  const int count = static_cast<int>(returns.size());
  const int first = lua_gettop(L) - count + 1;
  if (count < 2 || returns[0].name().empty() || test_tensor(L, first) == nullptr) return;
  push_environment(L, count);
  for (int i = 0; i < count; ++i) {
    set_result(L, first + i, returns[static_cast<size_t>(i)].name().c_str());
  }
  lua_setfenv(L, first);
}

void push_result_names(lua_State* L) {
  lua_createtable(L, 0, static_cast<int>(kNames.size()));
  for (const char* name : kNames) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, name);
  }
  push_torch_function<&named_result>(L);
}

}  // namespace rtrain::engine
