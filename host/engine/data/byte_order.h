// host/engine/data/byte_order.h: swaps bytes of numbers that a file stores in big-endian order.
#pragma once

#include <cstddef>

namespace rtrain::engine {

// Reverses the bytes of each of `count` elements of `width` bytes, in place. Does nothing for width
// 1. REQUIRES: width is 1, 2, 4 or 8 and data is aligned to it.
void swap_bytes(void* data, size_t count, size_t width);

}  // namespace rtrain::engine
