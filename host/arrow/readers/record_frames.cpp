#include "host/arrow/readers/record_frames.h"

#include <algorithm>
#include <limits>

#include "host/base/codec/masked_crc.h"
#include "host/base/codec/protobuf.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::arrow {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kCrcBytes = 4;
constexpr int64_t kHeadBytes = kLengthBytes + kCrcBytes;
constexpr int64_t kReadBytes = int64_t{1} << 18;
constexpr int64_t kMostReadBytes = int64_t{64} << 20;
// Protocol buffers are no longer than this.
constexpr uint64_t kMostBytes = std::numeric_limits<int32_t>::max();

bool is_head(std::string_view bytes) {
  return bytes.size() >= kHeadBytes && little_endian<uint32_t>(bytes.substr(kLengthBytes)) ==
                                           masked_crc(bytes.substr(0, kLengthBytes));
}

}  // namespace

// A length may look like the first bytes of a packed file.
RecordFrames::RecordFrames(const std::string& path) : path_(path), input_(path, &is_head) {}

FileTask RecordFrames::task() const {
  const char* of = input_.is_packed() ? " of the unpacked data" : "";
  return {"read", path_, cat("record ", record_, " at byte ", record_offset_, of)};
}

void RecordFrames::fail(std::string_view detail) const {
  throw Error(Code::kArgument, failure_text(task(), detail));
}

std::string_view RecordFrames::look(int64_t size) {
  const auto wanted = static_cast<size_t>(size);
  if (bytes_.size() - at_ < wanted) {
    bytes_.erase(0, at_);
    at_ = 0;
  }
  while (bytes_.size() < at_ + wanted) {
    const auto missing = static_cast<int64_t>(wanted - bytes_.size());
    const auto more = input_.read(std::clamp(missing, kReadBytes, kMostReadBytes));
    if (more->size() == 0) break;
    bytes_ += std::string_view(*more);
  }
  return std::string_view(bytes_).substr(at_, wanted);
}

void RecordFrames::pass(int64_t size) {
  const auto here = std::min(size, static_cast<int64_t>(bytes_.size() - at_));
  at_ += static_cast<size_t>(here);
  offset_ += size;
  if (here < size && input_.skip(size - here) < size - here) fail("its end is missing");
}

std::optional<int64_t> RecordFrames::begin() {
  ++record_;
  record_offset_ = offset_;
  const std::string_view head = look(kHeadBytes);
  if (head.empty()) return std::nullopt;
  if (head.size() < kHeadBytes) fail("its end is missing");
  if (!is_head(head)) {
    fail(record_ == 0 ? "it is not a TFRecord file"
                      : "the checksum of its length is wrong: the file is damaged");
  }
  const auto size = little_endian<uint64_t>(head);
  if (size > kMostBytes) fail(cat("it has ", size, " bytes, more than an example can have"));
  pass(kHeadBytes);
  return static_cast<int64_t>(size);
}

std::optional<std::string_view> RecordFrames::next() {
  const auto size = begin();
  if (!size) return std::nullopt;
  const std::string_view found = look(*size + kCrcBytes);
  if (static_cast<int64_t>(found.size()) < *size + kCrcBytes) fail("its end is missing");
  const auto length = static_cast<size_t>(*size);
  const std::string_view out = found.substr(0, length);
  if (little_endian<uint32_t>(found.substr(length)) != masked_crc(out)) {
    fail("its checksum is wrong: the file is damaged");
  }
  pass(*size + kCrcBytes);
  return out;
}

int64_t RecordFrames::skip(int64_t count) {
  for (int64_t done = 0; done < count; ++done) {
    const auto size = begin();
    if (!size) return done;
    pass(*size + kCrcBytes);
  }
  return count;
}

}  // namespace rtrain::arrow
