// host/base/files/byte_source.h: bytes that a reader of foreign files asks for by their place.
//
// Readers check every place they take from a file against size() before they use it.
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

  // Copies size bytes from the offset on. REQUIRES: offset + size <= size().
  // Throws Error(kEnvironment) when the medium fails.
  virtual void read(uint64_t offset, void* to, size_t size) const = 0;

  // The first of all bytes, valid while the pointer lives; null where bytes can only be copied.
  // They may be changed: the changes are seen by nobody else.
  virtual std::shared_ptr<char> mapping() const { return nullptr; }

  std::string text(uint64_t offset, size_t size) const {
    std::string out(size, '\0');
    read(offset, out.data(), size);
    return out;
  }
};

}  // namespace rtrain
