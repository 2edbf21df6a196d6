// host/engine/tensor/printing.h: tensors as text, the way PyTorch prints them: aligned, large ones
// summarised.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "host/lua/lua.h"

namespace rtrain {

// "tensor([[1., 2.],\n        [3., 4.]])" with dtype, device and grad_fn where they are not the
// usual ones, by the options of the state.
std::string to_text(lua_State* L, const at::Tensor& tensor);

// Adds set_printoptions(precision, threshold, edgeitems, linewidth, sci_mode) to the table at the
// top; each stays as it is for nil, but sci_mode, which nil makes automatic.
void open_printing(lua_State* L);

}  // namespace rtrain
