// host/engine/memory/live_tensors.h: the tensors that a script can reach, with their names in the
// script: for out-of-memory errors and memory profiles.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/lua/lua.h"

namespace rtrain::engine {

struct LiveTensor {
  std::string name;  // "model.fc.weight", "gradient of model.fc.weight"; "" if it has none
  std::string text;  // "float32 [2, 3]"
  int64_t bytes = 0;
  // Address of its memory, only for comparison.
  const void* data = nullptr;
  const void* storage = nullptr;
};

struct LiveTensors {
  std::vector<LiveTensor> largest;  // in descending order
  int64_t bytes = 0;                // of all tensors, shared memory counted once
};

// Visits the locals of the running functions, upvalues, and all tables from the registry on. Does
// not call the script's code. Leaves the stack unchanged.
LiveTensors live_tensors(lua_State* L, c10::Device device, size_t most);

}  // namespace rtrain::engine
