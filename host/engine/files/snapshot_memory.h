// host/engine/files/snapshot_memory.h: memory that holds copies of storages, kept from one snapshot
// to the next.
#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <vector>

namespace rtrain {

class SnapshotMemory {
 public:
  SnapshotMemory() = default;
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  // Host copies of the storages' bytes, in their order, made with all of LibTorch's threads. They
  // lie in this memory until the next take(), which must not come while one is in use. Throws
  // kOutOfMemory.
  std::vector<c10::Storage> take(const std::vector<c10::Storage>& storages);

 private:
  void reserve(size_t size);

  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rtrain
