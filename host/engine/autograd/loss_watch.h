// host/engine/autograd/loss_watch.h: sees the losses that backward() begins with, and calls Lua for
// one that is not finite, before its gradients are computed.
//
// What it costs: a loss on the CPU is read, one comparison. One on a device is not read, which
// would wait for the device: the newest 256 are kept, at 512 bytes each, until Lua asks for them at
// a moment when it waits for the device anyway.
// Whoever asks for every loss is called for each one, and waits for the device.
// Belongs to the state's thread.
#pragma once

#include <ATen/core/Tensor.h>

#include "host/engine/runtime/vm.h"

namespace rtrain {

// Raises what the function raises. Without watch_losses it does nothing.
void see_loss(Vm& vm, lua_State* L, const at::Tensor& loss);

}  // namespace rtrain
