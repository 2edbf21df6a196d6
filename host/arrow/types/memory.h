// host/arrow/types/memory.h: the memory pool of Arrow's buffers.
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/memory_pool.h>

#include <cstdint>

namespace rtrain::arrow {

// Counts the process's allocations for Arrow and limits them by the machine's memory, because a
// damaged file may request any size. Never destroyed; any thread.
::arrow::MemoryPool* memory_pool();

// While it exists, limits how much more this thread may allocate from the pool; the pool refuses
// allocations beyond. One at a time in a thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Whether an allocation was refused because of this budget.
  bool is_spent() const { return is_spent_; }

 private:
  friend class ProcessPool;

  bool allows(int64_t more) {
    is_spent_ |= more > left_;
    return more <= left_;
  }
  void take(int64_t bytes) { left_ -= bytes; }  // negative: freed

  int64_t left_;
  bool is_spent_ = false;
};

// For Arrow's compute functions: uses this pool and no threads except the caller's.
::arrow::compute::ExecContext* exec_context();

}  // namespace rtrain::arrow
