// host/engine/tensor/printing.h: tensors as text, the way PyTorch prints them: aligned, large ones
// summarised.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "host/lua/lua.h"

namespace rtrain::engine {

// "tensor([[1., 2.],\n        [3., 4.]])", followed by dtype, device and grad_fn if they are not
// the default, with the Lua state's print options.
std::string to_text(lua_State* L, const at::Tensor& tensor);

// Adds set_printoptions(precision, threshold, edgeitems, linewidth, sci_mode) to the table at the
// top. nil leaves an option unchanged, but makes sci_mode automatic.
void open_printing(lua_State* L);

}  // namespace rtrain::engine
