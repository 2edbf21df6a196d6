// host/engine/distributed/shard_functions.cpp: torch._C.distributed: tensors that are divided among
// ranks (shards.h, shard_guard.h).
#include <array>
#include <string_view>

#include "host/engine/distributed/group_argument.h"
#include "host/engine/distributed/shards.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/shard_guard.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

SharedShape read_shape(lua_State* L, int sizes, int dtypes, int number) {
  SharedShape out;
  Sizes read;
  lua_rawgeti(L, sizes, number);
  if (!read_sizes(L, lua_gettop(L), lua_gettop(L), read) || read.empty()) {
    throw Error(Code::kArgument, "shared_tensors: expected a list of shapes");
  }
  out.sizes.assign(read.begin(), read.end());
  lua_rawgeti(L, dtypes, number);
  out.dtype = check_dtype(L, lua_gettop(L), "shared_tensors: dtype");
  lua_pop(L, 2);
  return out;
}

// shared_tensors(shapes, dtypes, group): returns the lists of wholes and shards.
int call_shared_tensors(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  const GroupPtr group = group_argument(L, 3);
  std::vector<SharedShape> shapes;
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, 1)); ++i) {
    shapes.push_back(read_shape(L, 1, 2, i));
  }
  const SharedTensors made = shared_tensors(group, shapes);
  push_tensors(L, made.wholes);
  push_tensors(L, made.shards);
  return 2;
}

// Waits for the work, or returns it with async_op.
int give(lua_State* L, GroupWorkPtr work, bool is_async) {
  if (!is_async) return 0;
  lua::push<GroupWork>(L, std::move(work));
  return 1;
}

// all_gather_shards(wholes, shards, group, async_op)
int call_all_gather_shards(lua_State* L) {
  const bool is_async = lua_toboolean(L, 4) != 0;
  return give(
      L,
      all_gather_shards(group_argument(L, 3), check_tensors(L, 1), check_tensors(L, 2), is_async),
      is_async);
}

// reduce_scatter_shards(shards, wholes, op, group, async_op)
int call_reduce_scatter_shards(lua_State* L) {
  const bool is_async = lua_toboolean(L, 5) != 0;
  return give(L,
              reduce_scatter_shards(group_argument(L, 4), check_tensors(L, 1), check_tensors(L, 2),
                                    luaL_optstring(L, 3, "sum"), is_async),
              is_async);
}

// shard_rows(rows, rank, num_ranks): returns the first row, from 0, and the number of rows.
int call_shard_rows(lua_State* L) {
  const ShardRows rows = shard_rows(static_cast<int64_t>(luaL_checknumber(L, 1)),
                                    static_cast<int>(luaL_checknumber(L, 2)),
                                    static_cast<int>(luaL_checknumber(L, 3)));
  push_int(L, rows.begin);
  push_int(L, rows.count);
  return 2;
}

int shares_memory(lua_State* L) {
  lua_pushboolean(L, group_argument(L, 1)->uses_shm());
  return 1;
}

// mark_shard(tensor, name, begin, num_rows, number): shard_guard.h.
int call_mark_shard(lua_State* L) {
  mark_shard(check_tensor(L, 1), {.name = luaL_checkstring(L, 2),
                                  .begin = static_cast<int64_t>(luaL_checknumber(L, 3)),
                                  .num_rows = static_cast<int64_t>(luaL_checknumber(L, 4)),
                                  .number = static_cast<int64_t>(luaL_checknumber(L, 5))});
  return 0;
}

int call_shard_number(lua_State* L) {
  const at::Tensor* tensor = test_tensor(L, 1);
  push_int(L, tensor == nullptr ? 0 : shard_number(*tensor));
  return 1;
}

int call_unmarked(lua_State* L) {
  push_tensor(L, unmarked(check_tensor(L, 1)));
  return 1;
}

// Between the two calls of each pair, operators may do anything with shards.
int call_enter_shard_scope(lua_State*) {
  enter_shard_scope();
  return 0;
}

int call_leave_shard_scope(lua_State*) {
  leave_shard_scope();
  return 0;
}

}  // namespace

void add_shards(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&call_shared_tensors>("shared_tensors"),
      torch_method<&call_all_gather_shards>("all_gather_shards"),
      torch_method<&call_reduce_scatter_shards>("reduce_scatter_shards"),
      torch_method<&call_shard_rows>("shard_rows"),
      torch_method<&shares_memory>("shares_memory"),
      torch_method<&call_mark_shard>("mark_shard"),
      torch_method<&call_shard_number>("shard_number"),
      torch_method<&call_unmarked>("unmarked"),
      torch_method<&call_enter_shard_scope>("enter_shard_scope"),
      torch_method<&call_leave_shard_scope>("leave_shard_scope")};
  lua::add_functions(L, kFunctions);
}

}  // namespace rtrain::engine
