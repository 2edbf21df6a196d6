// host/train/run/value_size.h: the approximate memory of a value.
#pragma once

#include <cstddef>

#include "host/base/value.h"

namespace rtrain::train {

size_t approximate_bytes(const Value& value);

}  // namespace rtrain::train
