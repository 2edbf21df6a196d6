// host/engine/distributed/shm/memory_file.h: memory that several processes map: a file without a
// name. One process creates it, the others open it through /proc while the creator keeps it open.
// The kernel frees it with the last process that maps it, however they end. Pages that no process
// touches use no memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "host/base/error.h"
#include "host/base/files/fd.h"

namespace rtrain::engine {

class MemoryFile {
 public:
  // How other processes find the file.
  struct Address {
    int64_t pid = 0;
    int64_t fd = -1;
  };

  // Of zeros. `name` is what /proc shows. Throws Error(kEnvironment), as try_open does.
  static MemoryFile create(const char* name, size_t bytes);
  // None if the creator has ended, or cannot be seen from this process.
  static std::optional<MemoryFile> try_open(const Address& address);
  // The error for a file that is another one than the caller looked for.
  static Error mistaken(const Address& address, std::string_view what);
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  std::byte* data() const { return memory_; }
  size_t size() const { return size_bytes_; }
  Address address() const;
  // After this no process can open the file.
  void close() { fd_.reset(); }
  // Returns the pages of a range to the kernel: it reads as zeros. REQUIRES: not closed.
  void give_back(size_t offset, size_t bytes);

 private:
  MemoryFile(Fd fd, size_t bytes);

  Fd fd_;
  size_t size_bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace rtrain::engine
