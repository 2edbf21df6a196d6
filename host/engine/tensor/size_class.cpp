#include "host/engine/tensor/size_class.h"

#include <vector>

#include "host/base/text/text.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

Sizes check_sizes(lua_State* L, int index) {
  Sizes out;
  if (lua_type(L, index) != LUA_TTABLE || !read_sizes(L, index, index, out)) {
    throw Error(Code::kArgument,
                cat("Size: expected a list of integers, got ", describe_value(L, index)));
  }
  return out;
}

int numel(lua_State* L) {
  int64_t out = 1;
  for (const int64_t size : check_sizes(L, 1)) out *= size;
  push_int(L, out);
  return 1;
}

int index(lua_State* L) {
  if (lua_type(L, 2) == LUA_TNUMBER && lua_tonumber(L, 2) < 1) {
    throw Error(Code::kArgument,
                "lists of sizes are counted from 1: x.shape[1] is dimension 0, x:size(0) too");
  }
  if (lua_type(L, 2) == LUA_TSTRING && std::string_view(lua_tostring(L, 2)) == "numel") {
    push_torch_function<&numel>(L);
    return 1;
  }
  lua_pushnil(L);
  return 1;
}

int to_string(lua_State* L) {
  std::string out = "torch.Size([";
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, 1)); ++i) {
    lua_rawgeti(L, 1, i);
    out += cat(i > 1 ? ", " : "", lua_tonumber(L, -1));
    lua_pop(L, 1);
  }
  out += "])";
  lua_pushlstring(L, out.data(), out.size());
  return 1;
}

int equal(lua_State* L) {
  const int count = static_cast<int>(lua_objlen(L, 1));
  bool equal = count == static_cast<int>(lua_objlen(L, 2));
  for (int i = 1; equal && i <= count; ++i) {
    lua_rawgeti(L, 1, i);
    lua_rawgeti(L, 2, i);
    equal = lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 2);
  }
  lua_pushboolean(L, equal ? 1 : 0);
  return 1;
}

// x.shape .. {1}, {1} .. x.shape.
int concatenate(lua_State* L) {
  Sizes out = check_sizes(L, 1);
  out.append(check_sizes(L, 2));
  push_sizes(L, out);
  return 1;
}

int make(lua_State* L) {
  push_sizes(L, check_sizes(L, 1));
  return 1;
}

constexpr lua::Method kMeta[] = {
    torch_method<&index>("__index"), torch_method<&to_string>("__tostring"),
    torch_method<&equal>("__eq"), torch_method<&concatenate>("__concat")};

}  // namespace

void open_size(lua_State* L) {
  lua::push_functions(L, kMeta);
  lua_pushliteral(L, "torch.Size");
  lua_setfield(L, -2, "__name");
  // A field of torch._C, so that serialized sizes refer to it by name.
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "_size_meta");
  vm(L).size_meta_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  push_torch_function<&make>(L);
  lua_setfield(L, -2, "Size");
}

}  // namespace rtrain::engine
