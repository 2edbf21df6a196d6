#include "host/arrow/types/memory.h"

#include <arrow/status.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "host/machine/machine.h"

namespace rtrain::arrow {
namespace {

thread_local MemoryBudget* budget = nullptr;  // of this thread; usually null

}  // namespace

// Arrow's own pool over the system's allocator copies whenever a buffer grows. The process
// allocates with jemalloc, which can often grow large buffers in place.
class ProcessPool final : public ::arrow::MemoryPool {
 public:
  explicit ProcessPool(int64_t machine_bytes)
      : limit_(machine_bytes / 10 * 9), largest_(std::max(kAlwaysAllowed, machine_bytes / 4)) {}

  using ::arrow::MemoryPool::Allocate;
  using ::arrow::MemoryPool::Free;
  using ::arrow::MemoryPool::Reallocate;

  ::arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (size < 0) return ::arrow::Status::Invalid("a buffer of ", size, " bytes");
    ARROW_RETURN_NOT_OK(check_limit(size, size));
    ARROW_RETURN_NOT_OK(allocate(size, alignment, out));
    if (budget != nullptr) budget->take(size);
    stats_.DidAllocateBytes(size);
    return ::arrow::Status::OK();
  }

  ::arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                             uint8_t** data) override {
    if (new_size < 0) return ::arrow::Status::Invalid("a buffer of ", new_size, " bytes");
    ARROW_RETURN_NOT_OK(check_limit(new_size, new_size - old_size));
    const bool large = std::min(old_size, new_size) >= kLarge;
    ARROW_RETURN_NOT_OK(large ? resize(old_size, new_size, alignment, data)
                              : move(old_size, new_size, alignment, data));
    if (budget != nullptr) budget->take(new_size - old_size);
    stats_.DidReallocateBytes(old_size, new_size);
    return ::arrow::Status::OK();
  }

  void Free(uint8_t* data, int64_t size, int64_t) override {
    if (size > 0) std::free(data);
    if (budget != nullptr) budget->take(-size);
    stats_.DidFreeBytes(size);
  }

  int64_t bytes_allocated() const override { return stats_.bytes_allocated(); }
  int64_t max_memory() const override { return stats_.max_memory(); }
  int64_t total_bytes_allocated() const override { return stats_.total_bytes_allocated(); }
  int64_t num_allocations() const override { return stats_.num_allocations(); }
  std::string backend_name() const override { return "process"; }

 private:
  // Smaller buffers are always moved: jemalloc keeps them among others of their size.
  static constexpr int64_t kLarge = 32 * 1024;

  // Always allowed for one buffer, because a Parquet page may claim such a size until its first
  // bytes show that the claim is wrong.
  static constexpr int64_t kAlwaysAllowed = int64_t{2} << 30;

  ::arrow::Status check_limit(int64_t size, int64_t more) const {
    if (more <= 0) return ::arrow::Status::OK();
    const bool fits = size <= largest_ && more <= limit_ - stats_.bytes_allocated();
    if (fits && (budget == nullptr || budget->allows(more))) return ::arrow::Status::OK();
    return ::arrow::Status::OutOfMemory("it asks for ", size, " bytes at once, and ",
                                        bytes_allocated(), " are in use already");
  }

  static ::arrow::Status allocate(int64_t size, int64_t alignment, uint8_t** out) {
    if (size == 0) {
      alignas(64) static uint8_t nothing[1];
      *out = nothing;
      return ::arrow::Status::OK();
    }
    void* data = nullptr;
    const auto wanted = std::max<size_t>(static_cast<size_t>(alignment), sizeof(void*));
    if (posix_memalign(&data, wanted, static_cast<size_t>(size)) != 0) {
      return ::arrow::Status::OutOfMemory("there is no memory for ", size, " bytes");
    }
    *out = static_cast<uint8_t*>(data);
    return ::arrow::Status::OK();
  }

  static ::arrow::Status move(int64_t old_size, int64_t new_size, int64_t alignment,
                              uint8_t** data) {
    uint8_t* out = nullptr;
    ARROW_RETURN_NOT_OK(allocate(new_size, alignment, &out));
    const int64_t kept = std::min(old_size, new_size);
    if (kept > 0) std::memcpy(out, *data, static_cast<size_t>(kept));
    if (old_size > 0) std::free(*data);
    *data = out;
    return ::arrow::Status::OK();
  }

  static ::arrow::Status resize(int64_t old_size, int64_t new_size, int64_t alignment,
                                uint8_t** data) {
    void* out = std::realloc(*data, static_cast<size_t>(new_size));
    if (out == nullptr) {
      return ::arrow::Status::OutOfMemory("there is no memory for ", new_size, " bytes");
    }
    *data = static_cast<uint8_t*>(out);
    if (reinterpret_cast<uintptr_t>(out) % static_cast<uintptr_t>(alignment) == 0) {
      return ::arrow::Status::OK();
    }
    return move(std::min(old_size, new_size), new_size, alignment, data);
  }

  const int64_t limit_;    // for all buffers together
  const int64_t largest_;  // for one buffer
  ::arrow::internal::MemoryPoolStats stats_;
};

MemoryBudget::MemoryBudget(int64_t bytes) : left_(bytes) { budget = this; }
MemoryBudget::~MemoryBudget() { budget = nullptr; }

::arrow::MemoryPool* memory_pool() {
  static auto* const pool = new ProcessPool(machine::memory_bytes());
  return pool;
}

::arrow::compute::ExecContext* exec_context() {
  static auto* const context = [] {
    auto* out = new ::arrow::compute::ExecContext(memory_pool());
    out->set_use_threads(false);
    return out;
  }();
  return context;
}

}  // namespace rtrain::arrow
