// host/engine/tensor_class/attributes.h: attributes of tensors: x.shape, x.dtype, x.grad,
// …
#pragma once

#include <span>

#include "host/lua/class.h"

namespace rtrain::engine {

std::span<const lua::Method> attribute_getters();  // (tensor) → value
std::span<const lua::Method> attribute_setters();  // (tensor, value)

}  // namespace rtrain::engine
