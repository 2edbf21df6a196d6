// host/engine/distributed/shm/region.h: memory of a given size that the ranks of a group on one
// node share. One rank creates it, the others open it while the creator waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "host/engine/distributed/shm/memory_file.h"

namespace rtrain::engine {

class ShmRegion {
 public:
  // How other processes find the region.
  struct Address {
    MemoryFile::Address file;
    int64_t token = 0;
  };

  // Of zeros. Throws Error(kEnvironment), as open does.
  static ShmRegion create(size_t bytes);
  // Throws Error(kPeerLost) if the creator has ended, Error(kEnvironment) if the file is something
  // else.
  static ShmRegion open(const Address& address, size_t bytes);

  Address address() const { return {.file = file_.address(), .token = token()}; }
  // After this no process can open the region.
  void close_file() { file_.close(); }
  // Begins at a multiple of the page size.
  std::byte* data() const { return file_.data() + kHeaderBytes; }

 private:
  static constexpr size_t kHeaderBytes = 4096;

  explicit ShmRegion(MemoryFile file) : file_(std::move(file)) {}
  int64_t& token() const { return *reinterpret_cast<int64_t*>(file_.data()); }

  MemoryFile file_;
};

}  // namespace rtrain::engine
