#include "host/compile/streaming.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rtrain::compile {

#if defined(__x86_64__)

void stream(float* to, const float* from, size_t count) {
  constexpr size_t kVector = sizeof(__m128) / sizeof(float);
  const auto unaligned = reinterpret_cast<uintptr_t>(to) % sizeof(__m128) / sizeof(float);
  size_t i = std::min(count, (kVector - unaligned) % kVector);
  std::memcpy(to, from, i * sizeof(float));
  for (; i + kVector <= count; i += kVector) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
  std::memcpy(to + i, from + i, (count - i) * sizeof(float));
}

void end_streaming() { _mm_sfence(); }

#else

void stream(float* to, const float* from, size_t count) {
  std::memcpy(to, from, count * sizeof(float));
}

void end_streaming() {}

#endif

int64_t largest_cache() {
  constexpr int64_t kUnknown = 32 << 20;
  static const int64_t kBytes = [] {
    const int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? bytes : kUnknown;
  }();
  return kBytes;
}

}  // namespace rtrain::compile
