// host/base/files/input_file.h: a regular file as a ByteSource.
//
// Bytes are copied with pread: if the file shrinks meanwhile, that is an error. If a mapped file
// shrinks, the next access ends the process (SIGBUS), as with every mapping.
#pragma once

#include "host/base/files/byte_source.h"

namespace rtrain {

class InputFile final : public ByteSource {
 public:
  enum class Access {
    kCopy,
    kMap,  // private and copy-on-write: changes never reach the file
  };

  // Throws Error(kNotFound) if the file does not exist, Error(kEnvironment) if it cannot be opened
  // or mapped, Error(kArgument) for a folder, a pipe or a device. Messages name the path.
  InputFile(const std::string& path, Access access);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  uint64_t size() const override { return size_; }
  void read(uint64_t offset, void* to, size_t size) const override;
  std::shared_ptr<char> mapping() const override { return mapping_; }

 private:
  void map();

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  std::shared_ptr<char> mapping_;  // outlives the file
};

}  // namespace rtrain
