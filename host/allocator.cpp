// Settings of jemalloc, the allocator of the whole process; it reads this name as it starts.
//
// Freed memory stays in the process, whatever its size: a training step allocates what the step
// before it has freed, and activations that went back to the kernel in between would cost a
// convolutional network 1.7 x the time. Any of it may serve any request: by default a free piece
// more than 64 times as large does not, and as pieces only ever join, a perceptron's steps grew by
// 30 KiB each. Workers give it back when the machine's memory is short (machine/memory_pressure.h).
#include <malloc.h>
#include <unistd.h>

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "oversize_threshold:0,dirty_decay_ms:-1,lg_extent_max_active_fit:20";

// The one function that gives memory for free() which jemalloc lacks: glibc's would take it from
// glibc.
__attribute__((visibility("default"))) void* pvalloc(size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return memalign(page, size == 0 ? page : (size + page - 1) / page * page);
}
}
