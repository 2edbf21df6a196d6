#include "host/arrow/objects/output.h"

#include <arrow/util/io_util.h>

#include <cstring>
#include <utility>

#include "host/arrow/objects/object_store.h"
#include "host/base/object_uri.h"

namespace rtrain::arrow {
namespace {

class FileOutput final : public Output {
 public:
  FileOutput(const std::string& path, NewFile::Durability durability)
      : file_(path), durability_(durability) {}

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<int64_t> Tell() const override { return position_; }

  ::arrow::Status Write(const void* data, int64_t size) override {
    file_.write(data, static_cast<size_t>(size));
    position_ += size;
    if (file_.error() == 0) return ::arrow::Status::OK();
    return ::arrow::internal::IOErrorFromErrno(file_.error(), std::strerror(file_.error()));
  }

  ::arrow::Status commit() override {
    file_.commit(durability_);
    return ::arrow::Status::OK();
  }

 private:
  NewFile file_;
  NewFile::Durability durability_;
  int64_t position_ = 0;
  bool closed_ = false;
};

// Arrow's writers call Close() on the stream. The object only appears at commit().
class ObjectOutput final : public Output {
 public:
  explicit ObjectOutput(const std::string& uri) : stream_(create_object(uri)) {}
  ~ObjectOutput() override {
    if (!stream_->closed()) static_cast<void>(stream_->Abort());
  }
  ObjectOutput(const ObjectOutput&) = delete;
  ObjectOutput& operator=(const ObjectOutput&) = delete;

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<int64_t> Tell() const override { return stream_->Tell(); }
  ::arrow::Status Write(const void* data, int64_t size) override {
    return stream_->Write(data, size);
  }
  ::arrow::Status commit() override { return stream_->Close(); }

 private:
  std::shared_ptr<::arrow::io::OutputStream> stream_;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<Output> open_output(const std::string& path, NewFile::Durability durability) {
  if (is_object_uri(path)) return std::make_shared<ObjectOutput>(path);
  return std::make_shared<FileOutput>(path, durability);
}

}  // namespace rtrain::arrow
