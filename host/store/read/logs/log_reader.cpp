#include "host/store/read/logs/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/base/files/log_file.h"
#include "host/base/text/line_splitter.h"

namespace rtrain::store {
namespace {

constexpr size_t kMaxLineBytes = LineSplitter::kMaxLineBytes;
constexpr size_t kBlockBytes = 16384;
// A longer line is returned in pieces; a piece may extend to the end of its last block.
constexpr size_t kMaxPieceBytes = kMaxLineBytes + kBlockBytes;

bool are_same(int fd, const std::string& path) {
  struct stat held {};
  struct stat there {};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

int64_t size_of(const OpenFile& file) {
  struct stat facts {};
  if (::fstat(file.fd(), &facts) != 0) throw file_error("read", file.path());
  return facts.st_size;
}

}  // namespace

LogReader::LogReader(std::string folder, std::string path)
    : folder_(std::move(folder)), path_(std::move(path)) {
  const int64_t part = last_log_part(path_);
  lost_lines_ = part > 1;
  file_ = opened(part > 0 ? log_part_path(path_, part) : path_);
  times_ = times_of(part);
}

// Goes back by enough bytes for that many lines. The first line there may be incomplete and is
// skipped.
void LogReader::skip_to_last(int64_t lines) {
  constexpr int64_t kMostLines = 1'000'000'000;  // exceeds the lines in any log
  const int64_t bytes =
      (std::min(lines, kMostLines) + 1) * static_cast<int64_t>(kMaxPieceBytes + 1);
  int64_t behind = 0;  // bytes of the part after this one
  if (has_next_part()) {
    OpenFile newest = opened(path_);
    behind = size_of(newest);
    if (behind >= bytes) {
      file_ = std::move(newest);
      times_ = times_of(0);
      behind = 0;
    }
  }
  const int64_t place = size_of(file_) - (bytes - behind) - 1;
  if (place <= 0) return;
  if (::lseek(file_.fd(), place, SEEK_SET) < 0) throw file_error("read", file_.path());
  place_ = static_cast<uint64_t>(place);
  next(false);  // skips the incomplete line
}

std::optional<LogLine> LogReader::next(bool at_end) {
  while (!take_line()) {
    if (fill() || open_next()) continue;
    if (!at_end || line_.empty()) return std::nullopt;
    break;
  }
  return taken();
}

// Takes a line, or a part of one, from the block.
bool LogReader::take_line() {
  const std::string_view rest = std::string_view(block_).substr(used_);
  const size_t end = rest.find('\n');
  const bool is_whole = end != std::string_view::npos;
  const size_t taken = is_whole ? end + 1 : rest.size();
  line_.append(rest.substr(0, end));
  used_ += taken;
  place_ += taken;
  return is_whole || line_.size() >= kMaxLineBytes;
}

bool LogReader::fill() {
  block_.resize(kBlockBytes);
  used_ = 0;
  ssize_t got = 0;
  while ((got = ::read(file_.fd(), block_.data(), block_.size())) < 0) {
    if (errno != EINTR) throw file_error("read", file_.path());
  }
  block_.resize(static_cast<size_t>(got));
  return got > 0;
}

bool LogReader::has_next_part() const { return !are_same(file_.fd(), path_) && path_exists(path_); }

bool LogReader::open_next() {
  if (!has_next_part()) return false;
  // A part with a number does not grow any more, but bytes may have been added before it got the
  // number.
  if (fill()) return true;
  file_ = opened(path_);
  times_ = times_of(0);
  place_ = 0;
  return true;
}

LogLine LogReader::taken() {
  given_ = std::exchange(line_, {});
  return {given_, times_.at(place_ == 0 ? 0 : place_ - 1)};
}

}  // namespace rtrain::store
