// host/base/files/memory_source.h: bytes in memory as a ByteSource.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "host/base/error.h"
#include "host/base/files/byte_source.h"

namespace rtrain {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  // Throws Error(kInternal) when a reader has not checked an offset.
  void read(uint64_t offset, void* to, size_t size) const override {
    RT_CHECK(offset <= bytes_.size() && size <= bytes_.size() - offset);
    if (size > 0) std::memcpy(to, bytes_.data() + offset, size);
  }

 private:
  std::string bytes_;
};

}  // namespace rtrain
