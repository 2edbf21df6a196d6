// host/engine/memory/tensor_place.h: an alternative source of memory for a thread's CPU tensors,
// instead of the process's allocator.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace rtrain::engine {

class TensorPlace {
 public:
  virtual ~TensorPlace() = default;
  // Returns null if it has no space left.
  virtual c10::DataPtr allocate(size_t bytes) = 0;
};

// While it exists, large tensors of this thread are allocated there. Null: no change.
class TensorPlaceScope {
 public:
  explicit TensorPlaceScope(TensorPlace* place);
  ~TensorPlaceScope();
  TensorPlaceScope(const TensorPlaceScope&) = delete;
  TensorPlaceScope& operator=(const TensorPlaceScope&) = delete;

 private:
  TensorPlace* before_;
};

}  // namespace rtrain::engine
