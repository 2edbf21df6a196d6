// host/arrow/types/memory.h: where Arrow's buffers come from.
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/memory_pool.h>

#include <cstdint>

namespace rtrain {

// The process's allocator, with a count, and with the machine's memory as a limit: a damaged file
// may ask for anything. Never destroyed; any thread.
arrow::MemoryPool* memory_pool();

// While one lives, what this thread takes from the pool may grow by that many bytes; the pool
// refuses what goes beyond. One at a time in a thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Whether something was refused for it.
  bool is_spent() const { return is_spent_; }

 private:
  friend class ProcessPool;

  bool allows(int64_t more) {
    is_spent_ |= more > left_;
    return more <= left_;
  }
  void take(int64_t bytes) { left_ -= bytes; }  // negative: gives back

  int64_t left_;
  bool is_spent_ = false;
};

// For Arrow's own functions: this pool, and no threads except the caller's.
arrow::compute::ExecContext* exec_context();

}  // namespace rtrain
