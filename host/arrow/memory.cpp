#include "host/arrow/memory.h"

#include "host/base/machine.h"

namespace rtrain {

arrow::MemoryPool* memory_pool() {
  static auto* const pool =
      new arrow::CappedMemoryPool(arrow::system_memory_pool(), memory_bytes() / 10 * 9);
  return pool;
}

arrow::compute::ExecContext* exec_context() {
  static auto* const context = [] {
    auto* out = new arrow::compute::ExecContext(memory_pool());
    out->set_use_threads(false);
    return out;
  }();
  return context;
}

}  // namespace rtrain
