// host/engine/files/snapshot_memory.h: memory for copies of storages, reused by the next
// snapshot.
#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <vector>

namespace rtrain::engine {

class SnapshotMemory {
 public:
  SnapshotMemory() = default;
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  // Copies the storages' bytes to host memory, in order, with all of LibTorch's threads. The copies
  // are valid until the next take(), which must not be called while one is in use. Throws
  // kOutOfMemory.
  std::vector<c10::Storage> take(const std::vector<c10::Storage>& storages);

 private:
  void reserve(size_t size);

  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rtrain::engine
