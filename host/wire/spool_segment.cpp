#include "host/wire/spool_segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/base/error.h"
#include "host/base/hash.h"
#include "host/base/text.h"
#include "host/wire/wire_frame.h"

namespace rtrain {
namespace {

constexpr std::string_view kMagic = "rtrain spool 1 ";
constexpr size_t kStreamDigits = 16;
constexpr size_t kHeaderBytes = kMagic.size() + kStreamDigits + 1;
constexpr size_t kHashBytes = 8;
constexpr size_t kLengthBytes = 4;
constexpr size_t kMaxRecordBytes = kHashBytes + kLengthBytes + kMaxWireFrameBytes;

uint64_t number_at(std::string_view bytes, size_t count) {
  uint64_t out = 0;
  for (size_t i = 0; i < count; ++i) out |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return out;
}

// The frame that the bytes begin with, length included; empty when it is not whole.
std::string_view frame_at(std::string_view bytes) {
  if (bytes.size() < kHashBytes + kLengthBytes) return {};
  const uint64_t length = number_at(bytes.substr(kHashBytes), kLengthBytes);
  if (length > kMaxWireFrameBytes || bytes.size() < kHashBytes + kLengthBytes + length) return {};
  const std::string_view frame = bytes.substr(kHashBytes, kLengthBytes + length);
  return hash64(frame) == number_at(bytes, kHashBytes) ? frame : std::string_view();
}

WireFrame parsed(std::string_view frame) { return WireFrame::parse(frame.substr(kLengthBytes)); }

[[noreturn]] void fail(std::string_view action, const std::string& path, int reason) {
  throw Error(Code::kEnvironment,
              cat("cannot ", action, " ", path, ": ", std::string_view(std::strerror(reason))));
}

int write_all(int fd, std::string_view bytes, uint64_t place) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
    place += static_cast<uint64_t>(n);
  }
  return 0;
}

}  // namespace

void SpoolSegment::add_record(std::string& out, std::string_view frame) {
  const uint64_t hash = hash64(frame);
  for (size_t i = 0; i < kHashBytes; ++i) out.push_back(static_cast<char>(hash >> (8 * i)));
  out.append(frame);
}

uint64_t SpoolSegment::begin() { return kHeaderBytes; }

SpoolSegment SpoolSegment::create(std::string path, const std::string& stream, uint64_t first) {
  RT_CHECK(stream.size() == kStreamDigits);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) fail("make", path, errno);
  SpoolSegment out(std::move(path), std::move(fd));
  out.stream_ = stream;
  out.first_ = first;
  out.last_ = first - 1;
  out.append(cat(kMagic, stream, "\n"), out.last_);
  return out;
}

std::optional<SpoolSegment> SpoolSegment::open(std::string path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.is_open()) fail("open", path, errno);
  SpoolSegment out(std::move(path), std::move(fd));
  if (!out.scan()) return std::nullopt;
  return out;
}

// Reads all of it: false without a single frame.
bool SpoolSegment::scan() {
  const std::string header = read_bytes(0, kHeaderBytes);
  if (header.size() < kHeaderBytes || !header.starts_with(kMagic)) return false;
  stream_ = header.substr(kMagic.size(), kStreamDigits);
  size_ = kHeaderBytes;
  bool is_empty = true;
  for (bool more = true; more;) {
    more = false;
    const std::string bytes = read_bytes(size_, kMaxRecordBytes);
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::string_view text = frame_at(rest);
      if (text.empty()) break;
      const WireFrame frame = parsed(text);
      if (frame.type == WireType::kData) {
        if (!is_empty && frame.number != last_ + 1) break;
        if (is_empty) first_ = frame.number;
        last_ = frame.number;
        is_empty = false;
      }
      if (frame.type == WireType::kAck) acked_ = std::max(acked_, frame.number);
      rest.remove_prefix(kHashBytes + text.size());
      size_ += kHashBytes + text.size();
      more = true;
    }
  }
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fail("cut", path_, errno);
  return !is_empty;
}

void SpoolSegment::append(std::string_view records, uint64_t last) {
  if (const int reason = write_all(fd_.get(), records, size_)) {
    // A part of it would be taken for damage; the next append writes over what this leaves.
    if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fail("cut", path_, errno);
    fail("write", path_, reason);
  }
  size_ += records.size();
  last_ = last;
}

void SpoolSegment::read(uint64_t& place, size_t max_bytes, std::deque<std::string>& out) const {
  const size_t most = std::max(max_bytes, kMaxRecordBytes);
  const std::string bytes =
      read_bytes(place, static_cast<size_t>(std::min<uint64_t>(most, size_ - place)));
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view frame = frame_at(rest);
    if (frame.empty()) break;
    if (parsed(frame).type == WireType::kData) out.emplace_back(frame);
    rest.remove_prefix(kHashBytes + frame.size());
  }
  if (rest.size() == bytes.size() && !bytes.empty()) fail("read", path_, EIO);
  place += bytes.size() - rest.size();
}

std::string SpoolSegment::read_bytes(uint64_t place, size_t count) const {
  std::string out(count, '\0');
  size_t done = 0;
  while (done < count) {
    const ssize_t n =
        ::pread(fd_.get(), out.data() + done, count - done, static_cast<off_t>(place + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path_, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  out.resize(done);
  return out;
}

void SpoolSegment::remove() const { ::unlink(path_.c_str()); }

}  // namespace rtrain
