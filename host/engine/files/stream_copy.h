// host/engine/files/stream_copy.h: memcpy for a target that will not be read soon.
#pragma once

#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rtrain::engine {

// Writes around the caches: the target's cache lines need not be loaded first (a quarter of the
// time of large copies), and cached data of the training stays. REQUIRES: target is a multiple of
// 16.
inline void stream_copy(char* target, const char* source, size_t size) {
  size_t done = 0;
#ifdef __SSE2__
  constexpr size_t kLine = 64;
  for (; done + kLine <= size; done += kLine) {
    __m128i line[4];
    std::memcpy(line, source + done, kLine);
    auto* out = reinterpret_cast<__m128i*>(target + done);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(out + i, line[i]);
  }
  _mm_sfence();  // orders these stores before later ones for other threads
#endif
  std::memcpy(target + done, source + done, size - done);
}

}  // namespace rtrain::engine
