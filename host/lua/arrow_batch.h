// host/lua/arrow_batch.h: ArrowBatch as a Lua value, the same in librtrain_arrow.so and in the
// engine.
#pragma once

#include <array>
#include <memory>

#include "host/base/arrow_batch.h"
#include "host/lua/class.h"

namespace rtrain {

int arrow_batch_num_rows(lua_State* L);

template <>
struct Class<ArrowBatch> {
  using Slot = std::shared_ptr<ArrowBatch>;
  static constexpr const char* kName = "rtrain.ArrowBatch";
  static constexpr std::array kMethods = {method<&arrow_batch_num_rows>("num_rows")};
};

}  // namespace rtrain
