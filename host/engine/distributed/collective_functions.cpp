// host/engine/distributed/collective_functions.cpp: the collectives of torch._C.distributed.
//
// The last two arguments of each are the group (nil: all ranks) and async_op. With async_op it
// returns the Work, else the tensors that the collective has filled.
#include <array>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/distributed/collectives.h"
#include "host/engine/distributed/group_argument.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

struct Call {
  Call(lua_State* L, int index)
      : group(group_argument(L, index)), is_async(lua_toboolean(L, index + 1) != 0) {}

  GroupPtr group;
  bool is_async;
};

int rank_argument(lua_State* L, int index) { return static_cast<int>(luaL_optnumber(L, index, 0)); }

std::vector<at::Tensor> tensors_argument(lua_State* L, int index) {
  return lua_isnoneornil(L, index) ? std::vector<at::Tensor>() : check_tensors(L, index);
}

std::vector<int64_t> rows_argument(lua_State* L, int index) {
  Sizes sizes;
  if (lua_isnoneornil(L, index)) return {};
  if (!lua_istable(L, index) || !read_sizes(L, index, index, sizes)) {
    throw Error(Code::kArgument, cat("all_to_all_single: split sizes: expected a list of integers, "
                                     "got ",
                                     luaL_typename(L, index)));
  }
  return {sizes.begin(), sizes.end()};
}

// Returns the Work if asynchronous, else argument 1.
int give(lua_State* L, const Call& call, GroupWorkPtr work) {
  if (call.is_async) {
    lua::push<GroupWork>(L, std::move(work));
  } else {
    lua_settop(L, 1);
  }
  return 1;
}

// Returns the list of results and, if asynchronous, the Work.
int give_list(lua_State* L, const Call& call, GroupWorkPtr work) {
  push_tensors(L, work->results());
  if (!call.is_async) return 1;
  lua::push<GroupWork>(L, std::move(work));
  return 2;
}

int call_all_reduce(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const Call call(L, 3);
  return give(L, call, all_reduce(call.group, tensor, luaL_optstring(L, 2, "sum"), call.is_async));
}

int call_reduce(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const Call call(L, 4);
  return give(
      L, call,
      reduce(call.group, tensor, rank_argument(L, 2), luaL_optstring(L, 3, "sum"), call.is_async));
}

int call_broadcast(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const Call call(L, 3);
  return give(L, call, broadcast(call.group, tensor, rank_argument(L, 2), call.is_async));
}

int call_all_gather(lua_State* L) {
  const Call call(L, 3);
  return give_list(
      L, call, all_gather(call.group, tensors_argument(L, 1), check_tensor(L, 2), call.is_async));
}

int call_all_gather_into_tensor(lua_State* L) {
  const at::Tensor& output = check_tensor(L, 1);
  const Call call(L, 3);
  return give(L, call,
              all_gather_into_tensor(call.group, output, check_tensor(L, 2), call.is_async));
}

int call_gather(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const Call call(L, 4);
  return give_list(
      L, call,
      gather(call.group, tensor, tensors_argument(L, 2), rank_argument(L, 3), call.is_async));
}

int call_scatter(lua_State* L) {
  const at::Tensor& output = check_tensor(L, 1);
  const Call call(L, 4);
  return give(
      L, call,
      scatter(call.group, output, tensors_argument(L, 2), rank_argument(L, 3), call.is_async));
}

int call_reduce_scatter(lua_State* L) {
  const at::Tensor& output = check_tensor(L, 1);
  const Call call(L, 4);
  return give(L, call,
              reduce_scatter(call.group, output, check_tensors(L, 2), luaL_optstring(L, 3, "sum"),
                             call.is_async));
}

int call_reduce_scatter_tensor(lua_State* L) {
  const at::Tensor& output = check_tensor(L, 1);
  const Call call(L, 4);
  return give(L, call,
              reduce_scatter_tensor(call.group, output, check_tensor(L, 2),
                                    luaL_optstring(L, 3, "sum"), call.is_async));
}

int call_all_to_all(lua_State* L) {
  const std::vector<at::Tensor> outputs = check_tensors(L, 1);
  const Call call(L, 3);
  return give(L, call, all_to_all(call.group, outputs, check_tensors(L, 2), call.is_async));
}

int call_all_to_all_single(lua_State* L) {
  const at::Tensor& output = check_tensor(L, 1);
  const Call call(L, 5);
  return give(L, call,
              all_to_all_single(call.group, output, check_tensor(L, 2), rows_argument(L, 3),
                                rows_argument(L, 4), call.is_async));
}

int call_barrier(lua_State* L) {
  const Call call(L, 1);
  GroupWorkPtr work = barrier(call.group, call.is_async);
  if (!call.is_async) return 0;
  lua::push<GroupWork>(L, std::move(work));
  return 1;
}

int call_check_peers(lua_State* L) {
  group_argument(L, 1)->check_peers("forward");
  return 0;
}

int call_monitored_barrier(lua_State* L) {
  const lua::Options given(L, 1, "monitored_barrier", {"group", "timeout_s"});
  given.push("group");
  const GroupPtr group = group_argument(L, lua_gettop(L));
  monitored_barrier(group, given.seconds("timeout_s", group->options().timeout));
  return 0;
}

int call_send(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const Call call(L, 4);
  return give(L, call,
              send(call.group, tensor, rank_argument(L, 2), rank_argument(L, 3), call.is_async));
}

// Operations between start_coalescing and end_coalescing are submitted to the device as one.
int start_coalescing(lua_State* L) {
  group_argument(L, 1)->process_group()->startCoalescing(c10::kCUDA);
  return 0;
}

int end_coalescing(lua_State* L) {
  const std::shared_ptr<Group> group = group_argument(L, 1);
  lua::push<GroupWork>(L, GroupWork::begin(group, "batch_isend_irecv", true, {}, [&] {
                         return group->process_group()->endCoalescing(c10::kCUDA);
                       }));
  return 1;
}

int source_of(lua_State* L, const Group& group, const GroupWork& work) {
  lua_pushinteger(L, group.global_rank(work.source_rank()));
  return 1;
}

// recv. If argument 2 is nil, receives from any rank. Returns the sender's rank.
int call_recv(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const Call call(L, 4);
  const int src = static_cast<int>(luaL_optnumber(L, 2, -1));
  GroupWorkPtr work = receive(call.group, tensor, src, rank_argument(L, 3), call.is_async);
  if (call.is_async) return give(L, call, std::move(work));
  if (src < 0) return source_of(L, *call.group, *work);
  lua_pushinteger(L, src);
  return 1;
}

int work_wait(lua_State* L) {
  lua::check<GroupWork>(L, 1)->wait();
  lua_pushboolean(L, 1);
  return 1;
}

int work_is_completed(lua_State* L) {
  lua_pushboolean(L, lua::check<GroupWork>(L, 1)->is_completed());
  return 1;
}

int work_is_success(lua_State* L) {
  lua_pushboolean(L, lua::check<GroupWork>(L, 1)->is_success());
  return 1;
}

int work_result(lua_State* L) {
  push_tensors(L, lua::check<GroupWork>(L, 1)->results());
  return 1;
}

int work_source_rank(lua_State* L) {
  const std::shared_ptr<GroupWork>& work = lua::check<GroupWork>(L, 1);
  return source_of(L, work->group(), *work);
}

}  // namespace

void add_collectives(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&call_all_reduce>("all_reduce"),
      torch_method<&call_reduce>("reduce"),
      torch_method<&call_broadcast>("broadcast"),
      torch_method<&call_all_gather>("all_gather"),
      torch_method<&call_all_gather_into_tensor>("all_gather_into_tensor"),
      torch_method<&call_gather>("gather"),
      torch_method<&call_scatter>("scatter"),
      torch_method<&call_reduce_scatter>("reduce_scatter"),
      torch_method<&call_reduce_scatter_tensor>("reduce_scatter_tensor"),
      torch_method<&call_all_to_all>("all_to_all"),
      torch_method<&call_all_to_all_single>("all_to_all_single"),
      torch_method<&call_barrier>("barrier"),
      torch_method<&call_check_peers>("check_peers"),
      torch_method<&call_monitored_barrier>("monitored_barrier"),
      torch_method<&call_send>("send"),
      torch_method<&call_recv>("recv"),
      torch_method<&start_coalescing>("start_coalescing"),
      torch_method<&end_coalescing>("end_coalescing")};
  static constexpr std::array kWorkMethods = {
      torch_method<&work_wait>("wait"), torch_method<&work_is_completed>("is_completed"),
      torch_method<&work_is_success>("is_success"), torch_method<&work_result>("result"),
      torch_method<&work_source_rank>("source_rank")};
  lua::register_class<GroupWork>(L, kWorkMethods);
  lua::add_functions(L, kFunctions);
  // Adds to Work the method written in Lua: get_future.
  luaL_getmetatable(L, lua::Class<GroupWork>::kName);
  lua_getfield(L, -1, "__index");
  lua_setfield(L, -3, "Work");
  lua_pop(L, 1);
}

}  // namespace rtrain::engine
