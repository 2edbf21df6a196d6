// host/engine/autograd/loss_watch.h: checks the loss that backward() starts from, and calls Lua
// before any gradient is computed when the loss is not finite.
//
// Cost: a loss on the CPU is read and compared. Reading a loss on a device would wait
// for the device, so the newest 256 are kept, 512 bytes each, until Lua asks for them
// at a time when it waits for the device anyway. With `is_every` the function is
// called for every loss, which waits for the device. Belongs to the Lua state's
// thread.
#pragma once

#include <ATen/core/Tensor.h>

#include "host/engine/runtime/vm.h"

namespace rtrain::engine {

// Rethrows errors of the function. Does nothing without watch_losses.
void see_loss(Vm& vm, lua_State* L, const at::Tensor& loss);

}  // namespace rtrain::engine
