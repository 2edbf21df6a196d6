#include "host/arrow/readers/line_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/arrow/types/memory.h"
#include "host/arrow/types/status.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

constexpr int64_t kMaxRecordBytes = int64_t{256} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineBlocks::LineBlocks(const std::string& path, int64_t block_bytes, FindRecordsEnd find_end)
    : path_(path),
      file_(path),
      block_bytes_(block_bytes),
      find_end_(std::move(find_end)),
      rest_(std::make_shared<::arrow::Buffer>(nullptr, 0)) {}

// Returns the unread rest, followed by `wanted` bytes of the file.
std::shared_ptr<::arrow::Buffer> LineBlocks::read(int64_t wanted) {
  const bool first = !std::exchange(started_, true);
  const auto more = file_.read(wanted);
  end_ = more->size() < wanted;
  if (first && std::string_view(*more).starts_with(kByteOrderMark)) {
    return ::arrow::SliceBuffer(more, static_cast<int64_t>(kByteOrderMark.size()));
  }
  if (rest_->size() == 0) return more;
  return take(::arrow::ConcatenateBuffers({rest_, more}, memory_pool()), {"read", path_});
}

std::shared_ptr<::arrow::Buffer> LineBlocks::next() {
  if (block_ != nullptr) first_line_ = line_of(block_->size());
  block_ = nullptr;
  for (int64_t wanted = block_bytes_; !end_; wanted *= 2) {
    rest_ = read(wanted);
    const int64_t size = end_ ? rest_->size() : find_end_(rest_);
    if (size > 0) {
      block_ = ::arrow::SliceBuffer(rest_, 0, size);
      rest_ = ::arrow::SliceBuffer(rest_, size);
      return block_;
    }
    if (rest_->size() > kMaxRecordBytes) {
      throw Error(Code::kArgument, cat("cannot read '", path_, "', line ", first_line_,
                                       ": it is longer than 256 MiB: is it text?"));
    }
  }
  return nullptr;
}

int64_t LineBlocks::line_of(int64_t offset) const {
  if (block_ == nullptr) return first_line_;
  const auto* text = block_->data();
  return first_line_ + std::count(text, text + std::min(offset, block_->size()), '\n');
}

}  // namespace rtrain::arrow
