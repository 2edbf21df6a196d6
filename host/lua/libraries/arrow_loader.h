// host/lua/libraries/arrow_loader.h: brings librtrain_arrow.so, and with it Arrow and Parquet, into
// the process on first use. RTRAIN_ARROW_MODULE=path loads it from a file, for debugging.
#pragma once

#include "host/api/object_api.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

// Loads libarrow, libparquet and the module (once a process) and pushes the module's table for this
// state. Throws Error(kEnvironment), which lists all searched paths, without a usable Arrow.
int open_arrow(lua_State* L);

// The module's functions for object stores. Any thread. Throws as open_arrow().
const api::ObjectApi& object_api();

}  // namespace rtrain::lua
