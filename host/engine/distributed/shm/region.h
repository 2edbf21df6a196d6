// host/engine/distributed/shm/region.h: memory of a given size that the ranks of a group on one
// node share: a memory file without a name, which the kernel frees when no rank maps it any more.
//
// One rank creates it, the others open it through /proc while the creator waits for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/base/files/fd.h"

namespace rtrain::engine {

class ShmRegion {
 public:
  // How other processes find the region.
  struct Address {
    int64_t pid = 0;
    int64_t fd = -1;
    int64_t token = 0;
  };

  // Of zeros. Throws Error(kEnvironment), as open does.
  static ShmRegion create(size_t bytes);
  // Throws Error(kPeerLost) if the creator has ended, Error(kEnvironment) if the file is something
  // else.
  static ShmRegion open(const Address& address, size_t bytes);
  ShmRegion(ShmRegion&& other) noexcept;
  ShmRegion& operator=(ShmRegion&&) = delete;
  ~ShmRegion();

  Address address() const;
  // After this no process can open the region.
  void close_file() { fd_.reset(); }
  // Begins at a multiple of the page size.
  std::byte* data() const { return memory_ + kHeaderBytes; }

 private:
  static constexpr size_t kHeaderBytes = 4096;

  ShmRegion(Fd fd, size_t bytes);
  int64_t& token() const { return *reinterpret_cast<int64_t*>(memory_); }

  Fd fd_;
  size_t size_bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace rtrain::engine
