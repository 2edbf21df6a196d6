// host/engine/memory/live_tensors.h: the tensors that a script can reach, by the names it has for
// them: for the text of an out-of-memory error, and for memory profiles.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/lua/lua.h"

namespace rtrain {

struct LiveTensor {
  std::string name;  // "model.fc.weight", "gradient of model.fc.weight"; "" where there is none
  std::string text;  // "float32 [2, 3]"
  int64_t bytes = 0;
  // Where it is; not to be followed.
  const void* data = nullptr;
  const void* storage = nullptr;
};

struct LiveTensors {
  std::vector<LiveTensor> largest;  // falling
  int64_t bytes = 0;                // of all, each memory counted once
};

// Goes through the locals of the running functions, what functions have captured, and all tables
// from the registry on. Calls nothing of the script. Leaves the stack as it was.
LiveTensors live_tensors(lua_State* L, c10::Device device, size_t most);

}  // namespace rtrain
