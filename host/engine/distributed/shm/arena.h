// host/engine/distributed/shm/arena.h: allocates tensors in this rank's part of a shared segment,
// which the other ranks read and write without a copy.
//
// Any thread. A tensor keeps the segment alive.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "host/engine/distributed/shm/segment.h"
#include "host/engine/memory/tensor_place.h"

namespace rtrain::engine {

class ShmArena final : public TensorPlace, public std::enable_shared_from_this<ShmArena> {
 public:
  explicit ShmArena(std::shared_ptr<ShmSegment> segment);

  // Allocates whole pages. Returns null if the arena has no space left.
  c10::DataPtr allocate(size_t bytes) override;

 private:
  struct Block;
  static void free_block(void* block);
  void release(size_t offset, size_t bytes);

  std::shared_ptr<ShmSegment> segment_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  // offset → bytes; adjacent ranges are merged
};

}  // namespace rtrain::engine
