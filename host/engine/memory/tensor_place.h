// host/engine/memory/tensor_place.h: where the CPU tensors of a thread get their memory, if not
// from the process's allocator.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace rtrain {

class TensorPlace {
 public:
  virtual ~TensorPlace() = default;
  // Empty where it has no room.
  virtual c10::DataPtr allocate(size_t bytes) = 0;
};

// While it lives, large tensors of this thread lie there. Null: nothing changes.
class TensorPlaceScope {
 public:
  explicit TensorPlaceScope(TensorPlace* place);
  ~TensorPlaceScope();
  TensorPlaceScope(const TensorPlaceScope&) = delete;
  TensorPlaceScope& operator=(const TensorPlaceScope&) = delete;

 private:
  TensorPlace* before_;
};

}  // namespace rtrain
