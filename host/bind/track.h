// host/bind/track.h: the module `rtrain._track`: runs on their way to trackers.
//
//   follow(storage, run, options) → a follower of a run that has begun; options: of the tracker
//     follower:problem() → what went wrong first since the last call, or nil
//     follower:finish(seconds) → whether all was sent; returns at the latest after that time
//     follower:close() ends it
//
// host/track/follower.h says more.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_track(lua_State* L);

}  // namespace rtrain::bind
