// host/train/run/value_size.h: how much memory a value takes, about.
#pragma once

#include <cstddef>

#include "host/base/value.h"

namespace rtrain {

size_t approximate_bytes(const Value& value);

}  // namespace rtrain
