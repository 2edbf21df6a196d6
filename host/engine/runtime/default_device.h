// host/engine/runtime/default_device.h: the device of new tensors that name none:
// torch.set_default_device and torch.device(device, fn).
//
// A setting of each thread. Functions that make tensors for Lua apply it; LibTorch does not know
// it.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <span>

#include "host/lua/class.h"

namespace rtrain::engine {

// nullopt means the CPU.
const std::optional<c10::Device>& default_device();

// with_device, set_default_device, get_default_device
std::span<const lua::Method> default_device_functions();

}  // namespace rtrain::engine
