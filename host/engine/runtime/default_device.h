// host/engine/runtime/default_device.h: where tensors are made that name no device:
// torch.set_default_device and torch.device(device, fn).
//
// A setting of the thread. Whoever makes tensors for Lua asks for it: LibTorch knows nothing of it.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <span>

#include "host/lua/class.h"

namespace rtrain {

// Nothing: the CPU.
const std::optional<c10::Device>& default_device();

// with_device, set_default_device, get_default_device
std::span<const Method> default_device_functions();

}  // namespace rtrain
