// host/engine/tensor_class/methods.h: the methods of tensors that are not ATen operators: size,
// item, tolist, to, backward, …
#pragma once

#include <span>

#include "host/lua/class.h"

namespace rtrain::engine {

std::span<const lua::Method> tensor_methods();

}  // namespace rtrain::engine
