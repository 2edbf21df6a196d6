// host/engine/distributed/dist.cpp: torch._C.distributed: the process groups of a Lua state and the
// DDP reducer.
#include <array>
#include <memory>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "host/base/text/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/distributed/backend_choice.h"
#include "host/engine/distributed/group_argument.h"
#include "host/engine/distributed/hooks/lua_hook.h"
#include "host/engine/distributed/host_store.h"
#include "host/engine/distributed/reducer.h"
#include "host/engine/files/tree.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/comm_hook.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

// Registry key of the Lua state's group, a userdata.
constexpr const char* kGroupKey = "rtrain.Group";

}  // namespace
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::Reducer> {
  using Slot = std::shared_ptr<rtrain::engine::Reducer>;
  static constexpr const char* kName = "torch.distributed.Reducer";
};

namespace rtrain::engine {

std::shared_ptr<Group> find_group(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, kGroupKey);
  const auto* slot = lua::test<Group>(L, lua_gettop(L));
  std::shared_ptr<Group> out = slot == nullptr ? nullptr : *slot;
  lua_pop(L, 1);
  return out;
}

std::shared_ptr<Group> check_group(lua_State* L) {
  std::shared_ptr<Group> out = find_group(L);
  if (out == nullptr) {
    throw Error(
        Code::kArgument,
        "there is no process group: a train function that a trainer runs has one, elsewhere "
        "call torch.distributed.init_process_group first");
  }
  return out;
}

std::shared_ptr<Group> group_argument(lua_State* L, int index) {
  return lua_isnoneornil(L, index) ? check_group(L) : lua::check<Group>(L, index);
}

namespace {

c10::intrusive_ptr<c10d::Store> make_store(const api::HostApi& api, const GroupOptions& options) {
  if (api.has_store != nullptr && api.has_store())
    return c10::make_intrusive<HostStore>(api, options.timeout);
  if (options.world_size > 1) {
    throw Error(
        Code::kUnsupported,
        "a process group of several ranks is made by a trainer (rtrain run); this process has "
        "no controller to synchronize with the others");
  }
  return c10::make_intrusive<c10d::HashStore>();
}

std::string check_backend(const char* function, const std::string& name) {
  if (transports_of(name).cuda != CudaTransport::kNccl) return name;
  if (cuda_api() == nullptr || cuda_api()->devices.count() == 0) {
    throw Error(Code::kEnvironment, cat(function, ": backend '", name, "' needs a CUDA device: ",
                                        cuda_refusal(), ": use 'gloo', or leave it out"));
  }
  return name;
}

int init_process_group(lua_State* L) {
  const lua::Options given(L, 1, "init_process_group",
                           {"backend", "rank", "world_size", "timeout_s", "prefix", "address",
                            "node", "is_high_priority_stream"});
  if (find_group(L) != nullptr) {
    throw Error(Code::kArgument, "init_process_group: this process has a process group already");
  }
  GroupOptions options;
  options.rank = static_cast<int>(given.integer("rank", 0));
  options.world_size = static_cast<int>(given.integer("world_size", 1));
  options.timeout = given.seconds("timeout_s", options.timeout);
  options.prefix = given.text("prefix", "default");
  options.address = given.text("address", "");
  options.node = static_cast<int>(given.integer("node", 0));
  options.backend = check_backend("init_process_group", given.text("backend", options.backend));
  if (cuda_api() != nullptr && cuda_api()->devices.count() > 0) {
    options.device = cuda_api()->devices.current();
  }
  options.is_high_priority_stream = given.boolean("is_high_priority_stream", false);
  const api::HostApi& api = host(L);
  lua::push<Group>(L, std::make_shared<Group>(options, make_store(api, options), api));
  lua_setfield(L, LUA_REGISTRYINDEX, kGroupKey);
  return 0;
}

int destroy_process_group(lua_State* L) {
  check_outside_comm_hook(L, "destroy_process_group");
  if (!lua_isnoneornil(L, 1) && lua::check<Group>(L, 1) != find_group(L)) {
    lua::check<Group>(L, 1)->close();
    return 0;
  }
  if (const std::shared_ptr<Group> group = find_group(L)) group->close();
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, kGroupKey);
  return 0;
}

// Returns nil on a rank that is not in the group.
int new_group(lua_State* L) {
  const lua::Options given(L, 1, "new_group", {"ranks", "timeout_s", "backend"});
  NewGroupOptions wanted;
  given.push("ranks");
  Sizes ranks;
  if (!lua_isnil(L, -1)) {
    if (!lua_istable(L, -1) || !read_sizes(L, lua_gettop(L), lua_gettop(L), ranks) ||
        ranks.empty()) {
      throw Error(Code::kArgument, "new_group: ranks: expected a list of ranks");
    }
    wanted.ranks.assign(ranks.begin(), ranks.end());
  }
  lua_pop(L, 1);
  const std::shared_ptr<Group> all = check_group(L);
  wanted.timeout = given.seconds("timeout_s", all->options().timeout);
  wanted.backend = check_backend("new_group", given.text("backend", all->options().backend));
  const std::shared_ptr<Group> group = all->new_group(wanted);
  if (group == nullptr) return 0;
  lua::push<Group>(L, group);
  return 1;
}

// The same object at each call, so that it can be compared.
int world(lua_State* L) {
  check_group(L);
  lua_getfield(L, LUA_REGISTRYINDEX, kGroupKey);
  return 1;
}

int is_initialized(lua_State* L) {
  lua_pushboolean(L, find_group(L) != nullptr);
  return 1;
}

int get_rank(lua_State* L) {
  lua_pushinteger(L, group_argument(L, 1)->rank());
  return 1;
}

int get_backend(lua_State* L) {
  lua_pushstring(L, group_argument(L, 1)->backend_name());
  return 1;
}

int is_nccl_available(lua_State* L) {
  lua_pushboolean(L, cuda_api() != nullptr);
  return 1;
}

// Waits for the devices of the group of all ranks and of the groups made from it.
int wait_for_device(lua_State* L) {
  if (const auto group = find_group(L)) group->wait_for_device(luaL_checkstring(L, 1));
  return 0;
}

int get_world_size(lua_State* L) {
  lua_pushinteger(L, group_argument(L, 1)->world_size());
  return 1;
}

int get_global_rank(lua_State* L) {
  const std::shared_ptr<Group> group = group_argument(L, 1);
  const auto rank = static_cast<int>(luaL_checknumber(L, 2));
  if (rank < 0 || rank >= group->world_size()) {
    throw Error(Code::kArgument, cat("get_global_rank: the group has ", group->world_size(),
                                     " ranks, and no rank ", rank, " (they count from 0)"));
  }
  lua_pushinteger(L, group->global_rank(rank));
  return 1;
}

int get_group_rank(lua_State* L) {
  const auto rank = static_cast<int>(luaL_checknumber(L, 2));
  lua_pushinteger(L, group_argument(L, 1)->member("get_group_rank", rank));
  return 1;
}

std::vector<std::string> names_of(lua_State* L, const lua::Options& given) {
  std::vector<std::string> out;
  given.push("names");
  if (!lua_isnil(L, -1)) {
    luaL_checktype(L, -1, LUA_TTABLE);
    for (int i = 1; i <= static_cast<int>(lua_objlen(L, -1)); ++i) {
      lua_rawgeti(L, -1, i);
      out.emplace_back(luaL_checkstring(L, -1));
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return out;
}

std::vector<at::Tensor> tensors_of(lua_State* L, const lua::Options& given, const char* name) {
  given.push(name);
  std::vector<at::Tensor> out;
  if (!lua_isnil(L, -1)) out = check_tensors(L, lua_gettop(L));
  lua_pop(L, 1);
  return out;
}

template <class Number>
std::vector<Number> numbers_of(lua_State* L, const lua::Options& given, const char* name) {
  Sizes sizes;
  given.push(name);
  const int index = lua_gettop(L);
  if (!lua_isnil(L, index) && !read_sizes(L, index, index, sizes)) {
    throw Error(Code::kArgument, cat(name, ": expected a list of numbers"));
  }
  lua_pop(L, 1);
  std::vector<Number> out;
  for (const int64_t each : sizes) out.push_back(static_cast<Number>(each));
  return out;
}

int new_reducer(lua_State* L) {
  std::vector<at::Tensor> params = check_tensors(L, 1);
  const lua::Options given(L, 2, "DistributedDataParallel",
                           {"names", "buffers", "find_unused_parameters", "gradient_as_bucket_view",
                            "bucket_cap_mb", "static_graph", "broadcast_buffers", "frozen",
                            "process_group", "gradient_order", "num_virtual", "shares"});
  ReducerOptions options;
  options.names = names_of(L, given);
  options.buffers = tensors_of(L, given, "buffers");
  options.frozen = tensors_of(L, given, "frozen");
  options.find_unused_parameters = given.boolean("find_unused_parameters", false);
  options.gradient_as_bucket_view = given.boolean("gradient_as_bucket_view", true);
  options.static_graph = given.boolean("static_graph", false);
  options.broadcast_buffers = given.boolean("broadcast_buffers", true);
  options.bucket_cap_mb = given.number("bucket_cap_mb", options.bucket_cap_mb);
  options.gradient_order = numbers_of<int64_t>(L, given, "gradient_order");
  options.shares = numbers_of<int>(L, given, "shares");
  options.num_virtual = static_cast<int>(given.number("num_virtual", 0));
  given.push("process_group");
  const std::shared_ptr<Group> group = group_argument(L, lua_gettop(L));
  lua::push<Reducer>(L, Reducer::create(group, std::move(params), std::move(options)));
  return 1;
}

bool sync_argument(lua_State* L, int index) {
  return lua_isnoneornil(L, index) || lua_toboolean(L, index) != 0;
}

int before_forward(lua_State* L) {
  check_outside_comm_hook(L, "the forward of a DistributedDataParallel model");
  lua::check<Reducer>(L, 1)->before_forward(sync_argument(L, 2),
                                            static_cast<int>(luaL_optinteger(L, 3, -1)));
  return 0;
}

int end_virtual_rank(lua_State* L) {
  lua::check<Reducer>(L, 1)->end_virtual_rank(lua_toboolean(L, 2) != 0);
  return 0;
}

int note_zeroed(lua_State* L) {
  lua::check<Reducer>(L, 1)->note_zeroed(check_tensors(L, 2));
  return 0;
}

int share_buffers(lua_State* L) {
  lua::check<Reducer>(L, 1)->share_buffers();
  return 0;
}

// Applies the function to every tensor of the tree, in order. Lists and maps are copied.
template <class Replace>
Tree with_tensors(const Tree& tree, Replace& replace) {
  if (const auto* tensor = std::get_if<at::Tensor>(&tree)) return replace(*tensor);
  if (const auto* list = std::get_if<std::shared_ptr<TreeList>>(&tree)) {
    auto out = std::make_shared<TreeList>();
    for (const Tree& item : (*list)->items) out->items.push_back(with_tensors(item, replace));
    return out;
  }
  if (const auto* map = std::get_if<std::shared_ptr<TreeMap>>(&tree)) {
    auto out = std::make_shared<TreeMap>();
    out->ordered = (*map)->ordered;
    for (const auto& [key, item] : (*map)->entries) {
      out->entries.emplace_back(key, with_tensors(item, replace));
    }
    return out;
  }
  return tree;
}

int after_forward(lua_State* L) {
  const std::shared_ptr<Reducer> reducer = lua::check<Reducer>(L, 1);
  const bool sync = sync_argument(L, 3);
  if (!sync || !reducer->replaces_outputs()) {
    reducer->after_forward({}, sync);
    lua_pushvalue(L, 2);
    return 1;
  }
  const Tree output = to_tree(L, 2, "output");
  std::vector<at::Tensor> tensors;
  const auto collect = [&](const at::Tensor& tensor) { return tensors.emplace_back(tensor); };
  with_tensors(output, collect);
  const std::vector<at::Tensor> replaced = reducer->after_forward(tensors, sync);
  size_t next = 0;
  const auto replace = [&](const at::Tensor&) { return replaced[next++]; };
  push_tree(L, with_tensors(output, replace));
  return 1;
}

// The hook is a name, or a Lua function (lua_hook.h).
int register_comm_hook(lua_State* L) {
  const std::shared_ptr<Reducer> reducer = lua::check<Reducer>(L, 1);
  if (lua_isstring(L, 2) != 0) {
    reducer->register_comm_hook(lua_tostring(L, 2));
    return 0;
  }
  check_callable(L, 2, "register_comm_hook: hook");
  lua_settop(L, 2);
  reducer->register_comm_hook(std::make_unique<LuaCommHook>(std::make_unique<Callback>(L)));
  return 0;
}

int num_builds(lua_State* L) {
  lua_pushinteger(L, lua::check<Reducer>(L, 1)->num_builds());
  return 1;
}

int gradient_order(lua_State* L) {
  const std::vector<int64_t> order = lua::check<Reducer>(L, 1)->gradient_order();
  lua_createtable(L, static_cast<int>(order.size()), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    lua_pushinteger(L, static_cast<lua_Integer>(order[i]));
    lua_rawseti(L, -2, static_cast<int>(i + 1));
  }
  return 1;
}

}  // namespace

void open_dist(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&init_process_group>("init_process_group"),
      torch_method<&destroy_process_group>("destroy_process_group"),
      torch_method<&is_initialized>("is_initialized"),
      torch_method<&get_rank>("get_rank"),
      torch_method<&get_world_size>("get_world_size"),
      torch_method<&get_backend>("get_backend"),
      torch_method<&is_nccl_available>("is_nccl_available"),
      torch_method<&new_group>("new_group"),
      torch_method<&wait_for_device>("wait_for_device"),
      torch_method<&world>("world"),
      torch_method<&get_global_rank>("get_global_rank"),
      torch_method<&get_group_rank>("get_group_rank"),
      torch_method<&new_reducer>("Reducer")};
  lua::register_class<Group>(L);
  static constexpr std::array kReducerMethods = {
      torch_method<&before_forward>("before_forward"),
      torch_method<&after_forward>("after_forward"),
      torch_method<&end_virtual_rank>("end_virtual_rank"),
      torch_method<&note_zeroed>("note_zeroed"),
      torch_method<&share_buffers>("share_buffers"),
      torch_method<&register_comm_hook>("register_comm_hook"),
      torch_method<&num_builds>("num_builds"),
      torch_method<&gradient_order>("gradient_order")};
  lua::register_class<Reducer>(L, kReducerMethods);
  register_comm_bucket(L);
  lua::push_functions(L, kFunctions);
  add_collectives(L);
  add_shards(L);
  lua_setfield(L, -2, "distributed");  // "dist" is an operator of LibTorch
}

}  // namespace rtrain::engine
