// host/engine/files/stream_copy.h: memcpy for a target that is not read soon.
#pragma once

#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rtrain {

// Writes past the caches: the target's lines need not be fetched first (a quarter of the time of
// large copies), and what the training has in the caches stays there. REQUIRES: target is a
// multiple of 16.
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
  _mm_sfence();  // other threads see these before what is written after the copy
#endif
  std::memcpy(target + done, source + done, size - done);
}

}  // namespace rtrain
