// host/compile/streaming.h: writes numbers past the caches: for tensors that are larger than these,
// whose lines would be read before they are written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rtrain::compile {

void stream(float* to, const float* from, size_t count);
// Other threads see what this one has streamed before.
void end_streaming();

// Bytes of the processor's largest cache.
int64_t largest_cache();

}  // namespace rtrain::compile
