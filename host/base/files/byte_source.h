// host/base/files/byte_source.h: random access to the bytes of a file, for readers of untrusted
// files.
//
// Readers check every offset from a file against size() before they use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rtrain {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual uint64_t size() const = 0;

  // Copies `size` bytes starting at the offset. REQUIRES: offset + size <= size(). Throws
  // Error(kEnvironment) on a read error.
  virtual void read(uint64_t offset, void* to, size_t size) const = 0;

  // All bytes in memory, valid while the pointer exists; null if bytes can only be copied. Changes
  // to them are private.
  virtual std::shared_ptr<char> mapping() const { return nullptr; }

  std::string text(uint64_t offset, size_t size) const {
    std::string out(size, '\0');
    read(offset, out.data(), size);
    return out;
  }
};

}  // namespace rtrain
