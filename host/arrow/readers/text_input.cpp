#include "host/arrow/readers/text_input.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "host/arrow/readers/input.h"
#include "host/arrow/types/memory.h"
#include "host/arrow/types/status.h"
#include "host/base/error.h"
#include "host/base/object_uri.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

constexpr int64_t kPackedBytes = int64_t{1} << 18;

// The path; for a URI, without its query.
std::string_view name_of(std::string_view path) {
  return is_object_uri(path) ? path.substr(0, path.find('?')) : path;
}

}  // namespace

TextInput::TextInput(const std::string& path, IsPlain is_plain)
    : path_(path),
      is_plain_(is_plain),
      file_(open_input(path)),
      bytes_(std::make_shared<::arrow::Buffer>(nullptr, 0)) {}

std::shared_ptr<::arrow::Buffer> TextInput::read(int64_t wanted) {
  const FileTask task{"read", path_};
  if (!started_) begin(wanted);
  if (unpacker_ == nullptr) return read_plain(wanted);
  auto out = take(::arrow::AllocateResizableBuffer(wanted, memory_pool()), task);
  check(out->Resize(unpack(out->mutable_data(), wanted)), task);
  return out;
}

std::shared_ptr<::arrow::Buffer> TextInput::read_plain(int64_t wanted) {
  const FileTask task{"read", path_};
  const int64_t here = std::min(bytes_->size(), wanted);
  const auto first = ::arrow::SliceBuffer(bytes_, 0, here);
  bytes_ = ::arrow::SliceBuffer(bytes_, here);
  if (here == wanted || file_ended_) return first;
  auto more = take(file_->Read(wanted - here), task);
  return here == 0 ? more : take(::arrow::ConcatenateBuffers({first, more}, memory_pool()), task);
}

int64_t TextInput::skip(int64_t count) {
  const FileTask task{"read", path_};
  if (!started_) begin(0);
  if (unpacker_ != nullptr) {
    int64_t got = 0;
    while (got < count) {
      const int64_t size = read(std::min(count - got, kPackedBytes))->size();
      if (size == 0) break;
      got += size;
    }
    return got;
  }
  const int64_t here = std::min(bytes_->size(), count);
  bytes_ = ::arrow::SliceBuffer(bytes_, here);
  const int64_t at = take(file_->Tell(), task);
  const int64_t more = std::min(count - here, take(file_->GetSize(), task) - at);
  if (more > 0) check(file_->Seek(at + more), task);
  return here + std::max<int64_t>(more, 0);
}

// Reads the first bytes and detects from them whether the file is packed.
void TextInput::begin(int64_t wanted) {
  started_ = true;
  wanted = std::max<int64_t>(wanted, kPackingBytes);
  bytes_ = take(file_->Read(wanted), {"read", path_});
  file_ended_ = bytes_->size() < wanted;
  const bool is_plain = is_plain_ != nullptr && is_plain_(std::string_view(*bytes_));
  const auto by_content = is_plain ? std::nullopt : packing_of(std::string_view(*bytes_));
  const auto by_name = packing_of_name(name_of(path_));
  if (by_name && !by_content && bytes_->size() > 0) {
    throw Error(Code::kArgument,
                failure_text({"read", path_}, cat("its name says that it is packed with ",
                                                  packing_name(*by_name), ", and it is not")));
  }
  if (!by_content) return;
  packing_ = *by_content;
  unpacker_ = make_unpacker(packing_);
}

void TextInput::refill() {
  bytes_ = take(file_->Read(kPackedBytes), {"read", path_});
  file_ended_ = bytes_->size() == 0;
}

void TextInput::fail_packed(const ::arrow::Status& status) const {
  static constexpr const char* kPrefixes[] = {
      "its gzip data are damaged: ", "its Zstandard data are damaged: ",
      "its bzip2 data are damaged: ", "its xz data are damaged: "};
  fail(status, {"read", path_, "", kPrefixes[static_cast<size_t>(packing_)]});
}

// After the end of a packed stream: whether another one follows. Skips zeros that pad the file.
bool TextInput::begins_another() {
  while (true) {
    const std::string_view text(*bytes_);
    const size_t next = std::min(text.find_first_not_of('\0'), text.size());
    bytes_ = ::arrow::SliceBuffer(bytes_, static_cast<int64_t>(next));
    if (bytes_->size() > 0) return true;
    if (file_ended_) return false;
    refill();
  }
}

int64_t TextInput::unpack(uint8_t* to, int64_t wanted) {
  int64_t got = 0;
  while (got < wanted) {
    if (unpacker_->is_finished()) {
      if (!begins_another()) break;
      if (const auto status = unpacker_->restart(); !status.ok()) fail_packed(status);
    }
    if (bytes_->size() == 0 && !file_ended_) refill();
    const auto step = unpacker_->run(bytes_->data(), bytes_->size(), to + got, wanted - got);
    if (!step.ok()) fail_packed(step.status());
    bytes_ = ::arrow::SliceBuffer(bytes_, step->read);
    got += step->written;
    if (step->read > 0 || step->written > 0 || unpacker_->is_finished()) continue;
    if (bytes_->size() > 0) fail_packed(::arrow::Status::Invalid("its bytes are wrong"));
    if (file_ended_) {
      throw Error(Code::kArgument,
                  failure_text({"read", path_}, cat("it is packed with ", packing_name(packing_),
                                                    " and has no end: a part of it is missing")));
    }
  }
  return got;
}

}  // namespace rtrain::arrow
