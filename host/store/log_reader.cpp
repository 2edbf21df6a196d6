#include "host/store/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "host/base/log_file.h"

namespace rtrain {
namespace {

constexpr size_t kMaxLineBytes = 65536;

bool are_same(int fd, const std::string& path) {
  struct stat held {};
  struct stat there {};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

}  // namespace

LogReader::LogReader(std::string path) : path_(std::move(path)) {
  const int64_t part = last_log_part(path_);
  lost_lines_ = part > 1;
  file_ = OpenFile(part > 0 ? log_part_path(path_, part) : path_, O_RDONLY);
}

void LogReader::read(bool at_end, const Use& use) {
  do {
    read_part(use);
  } while (open_next(use));
  if (at_end && !line_.empty()) use(std::exchange(line_, {}));
}

void LogReader::read_part(const Use& use) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(file_.fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("read", file_.path());
    if (got == 0) return;
    add({buffer.data(), static_cast<size_t>(got)}, use);
  }
}

bool LogReader::open_next(const Use& use) {
  if (are_same(file_.fd(), path_) || !path_exists(path_)) return false;
  // Nothing is added to a part since it has its number; something may have been before that.
  read_part(use);
  file_ = OpenFile(path_, O_RDONLY);
  return true;
}

void LogReader::add(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const bool is_whole = end != std::string_view::npos;
    line_.append(bytes.substr(0, end));
    if (is_whole || line_.size() >= kMaxLineBytes) use(std::exchange(line_, {}));
    bytes.remove_prefix(is_whole ? end + 1 : bytes.size());
  }
}

}  // namespace rtrain
