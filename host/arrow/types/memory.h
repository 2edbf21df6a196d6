// host/arrow/types/memory.h: where Arrow's buffers come from.
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/memory_pool.h>

namespace rtrain {

// The process's allocator, with a count, and with the machine's memory as a limit: a damaged file
// may ask for anything. Never destroyed; any thread.
arrow::MemoryPool* memory_pool();

// For Arrow's own functions: this pool, and no threads except the caller's.
arrow::compute::ExecContext* exec_context();

}  // namespace rtrain
