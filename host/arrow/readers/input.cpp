#include "host/arrow/readers/input.h"

#include <arrow/buffer.h>
#include <arrow/result.h>

#include <algorithm>

#include "host/arrow/objects/object_store.h"
#include "host/arrow/types/memory.h"
#include "host/base/error.h"
#include "host/base/files/input_file.h"
#include "host/base/object_uri.h"

namespace rtrain::arrow {
namespace {

class Input final : public ::arrow::io::RandomAccessFile {
 public:
  explicit Input(const std::string& path) : file_(path, InputFile::Access::kCopy) {}

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<int64_t> GetSize() override { return static_cast<int64_t>(file_.size()); }
  ::arrow::Result<int64_t> Tell() const override { return position_; }

  ::arrow::Status Seek(int64_t position) override {
    if (position < 0) return ::arrow::Status::Invalid("seek to ", position);
    position_ = position;
    return ::arrow::Status::OK();
  }

  ::arrow::Result<int64_t> Read(int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, size, out));
    position_ += got;
    return got;
  }

  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, size));
    position_ += buffer->size();
    return buffer;
  }

  ::arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    if (position < 0 || size < 0) return ::arrow::Status::Invalid("read of ", size, " bytes");
    const int64_t rest = std::max<int64_t>(static_cast<int64_t>(file_.size()) - position, 0);
    const int64_t wanted = std::min(size, rest);
    try {
      file_.read(static_cast<uint64_t>(position), out, static_cast<size_t>(wanted));
    } catch (const Error& error) {
      return ::arrow::Status::IOError(error.message());
    }
    return wanted;
  }

  // Allocates memory for the bytes that exist, not for the size that a damaged file may request.
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> ReadAt(int64_t position,
                                                           int64_t size) override {
    if (position < 0 || size < 0) return ::arrow::Status::Invalid("read of ", size, " bytes");
    const int64_t rest = std::max<int64_t>(static_cast<int64_t>(file_.size()) - position, 0);
    ARROW_ASSIGN_OR_RAISE(auto buffer,
                          ::arrow::AllocateBuffer(std::min(size, rest), memory_pool()));
    ARROW_RETURN_NOT_OK(ReadAt(position, buffer->size(), buffer->mutable_data()));
    return std::shared_ptr<::arrow::Buffer>(std::move(buffer));
  }

 private:
  InputFile file_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<::arrow::io::RandomAccessFile> open_input(const std::string& path) {
  if (is_object_uri(path)) return open_object(path);
  return std::make_shared<Input>(path);
}

}  // namespace rtrain::arrow
