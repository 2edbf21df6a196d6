// host/engine/distributed/group_argument.h: groups and Works as Lua arguments.
#pragma once

#include <memory>

#include "host/engine/distributed/group.h"
#include "host/engine/distributed/group_work.h"
#include "host/lua/class.h"

template <>
struct rtrain::lua::Class<rtrain::engine::Group> {
  using Slot = std::shared_ptr<rtrain::engine::Group>;
  static constexpr const char* kName = "torch.distributed.ProcessGroup";
};

template <>
struct rtrain::lua::Class<rtrain::engine::GroupWork> {
  using Slot = std::shared_ptr<rtrain::engine::GroupWork>;
  static constexpr const char* kName = "torch.distributed.Work";
};

namespace rtrain::engine {

// The group of all ranks of the Lua state; null without one.
std::shared_ptr<Group> find_group(lua_State* L);
// The same, but throws Error(kArgument) without one.
std::shared_ptr<Group> check_group(lua_State* L);
// The group at that index; nil stands for the group of all ranks.
std::shared_ptr<Group> group_argument(lua_State* L, int index);

// Adds the collectives and messages to the table at the top, and the class Work.
void add_collectives(lua_State* L);
// Adds the functions of shards.h to it.
void add_shards(lua_State* L);

}  // namespace rtrain::engine
