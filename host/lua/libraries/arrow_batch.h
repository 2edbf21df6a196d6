// host/lua/libraries/arrow_batch.h: ArrowBatch as a Lua value, the same in librtrain_arrow.so and
// in the engine.
#pragma once

#include <memory>

#include "host/api/arrow_batch.h"
#include "host/lua/class.h"

namespace rtrain::lua {

template <>
struct Class<api::ArrowBatch> {
  using Slot = std::shared_ptr<api::ArrowBatch>;
  static constexpr const char* kName = "rtrain.ArrowBatch";
};

// The library that is loaded first makes the class; the other one uses it.
void register_arrow_batch(lua_State* L);

}  // namespace rtrain::lua
