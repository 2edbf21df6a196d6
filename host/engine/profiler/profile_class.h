// host/engine/profiler/profile_class.h: a finished recording and an open range as Lua objects.
#pragma once

#include <array>
#include <memory>

#include "host/engine/profiler/profile.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/ranges.h"

namespace rtrain::engine {

namespace profile_methods {
int num_events(lua_State* L);
int key_averages(lua_State* L);  // (profile, by_shape, by_stack): a list
int events(lua_State* L);        // a list of single events, with their times
int save(lua_State* L);
}  // namespace profile_methods

}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::Profile> {
  using Slot = std::unique_ptr<rtrain::engine::Profile>;
  static constexpr const char* kName = "torch.profiler.Profile";
};

namespace rtrain::engine {

// release() ends the range.
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::ProfileRange> {
  using Slot = std::unique_ptr<rtrain::engine::ProfileRange>;
  static constexpr const char* kName = "torch.profiler.Range";
};
