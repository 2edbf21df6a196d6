#include "host/engine/data/byte_order.h"

#include <cstdint>

#include "host/base/error.h"

namespace rtrain::engine {
namespace {

// Uses shifts, because compilers vectorize this loop for every x86-64, unlike a swap instruction.
uint16_t swapped(uint16_t x) { return static_cast<uint16_t>(x << 8 | x >> 8); }
uint32_t swapped(uint32_t x) {
  x = (x & 0x00ff00ffU) << 8 | (x >> 8 & 0x00ff00ffU);
  return x << 16 | x >> 16;
}
uint64_t swapped(uint64_t x) {
  x = (x & 0x00ff00ff00ff00ffU) << 8 | (x >> 8 & 0x00ff00ff00ff00ffU);
  x = (x & 0x0000ffff0000ffffU) << 16 | (x >> 16 & 0x0000ffff0000ffffU);
  return x << 32 | x >> 32;
}

template <class T>
void swap_all(void* data, size_t count) {
  T* const items = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) items[i] = swapped(items[i]);
}

}  // namespace

void swap_bytes(void* data, size_t count, size_t width) {
  RT_CHECK(width == 1 || width == 2 || width == 4 || width == 8);
  if (width == 2) swap_all<uint16_t>(data, count);
  if (width == 4) swap_all<uint32_t>(data, count);
  if (width == 8) swap_all<uint64_t>(data, count);
}

}  // namespace rtrain::engine
