// host/engine/data/byte_order.h: numbers that a file holds with their most significant byte first.
#pragma once

#include <cstddef>

namespace rtrain {

// Turns the bytes of each of `count` elements of `width` bytes around, in place. Width 1 leaves
// them as they are. REQUIRES: width is 1, 2, 4 or 8 and data is aligned to it.
void swap_bytes(void* data, size_t count, size_t width);

}  // namespace rtrain
