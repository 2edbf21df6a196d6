#include "host/base/files/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "host/base/files/store_access.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

namespace fs = std::filesystem;

// Returns how many of the bytes go into a part that has space for `room`: whole lines if possible.
size_t fitting(std::string_view bytes, size_t room, bool is_empty) {
  if (bytes.size() <= room) return bytes.size();
  const size_t line_end = room == 0 ? std::string_view::npos : bytes.rfind('\n', room - 1);
  if (line_end != std::string_view::npos) return line_end + 1;
  return is_empty ? room : 0;
}

}  // namespace

std::string log_part_path(const std::string& path, int64_t number) {
  return cat(path, ".", number);
}

int64_t last_log_part(const std::string& path) {
  const fs::path log = path;
  const std::string prefix = log.filename().string() + ".";
  int64_t last = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(log.parent_path(), ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    int64_t number = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + prefix.size(), end, number);
    if (read.ec == std::errc() && read.ptr == end) last = std::max(last, number);
  }
  return last;
}

LogFile::LogFile(std::string path, int64_t limit_bytes)
    : path_(std::move(path)),
      part_bytes_(limit_bytes > 0 ? std::max<int64_t>(limit_bytes / 2, 1)
                                  : std::numeric_limits<int64_t>::max()),
      times_(log_times_path(path_, 0)) {}

int LogFile::open() {
  file_ = Fd(open_in_store(path_, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK));
  struct stat info {};
  if (!file_.is_open() || ::fstat(file_.get(), &info) != 0) return errno;
  size_ = info.st_size;
  return 0;
}

int LogFile::begin_part() {
  const int64_t last = last_log_part(path_);
  if (std::rename(path_.c_str(), log_part_path(path_, last + 1).c_str()) != 0) return errno;
  std::rename(log_times_path(path_, 0).c_str(), log_times_path(path_, last + 1).c_str());
  times_.reopen();
  if (last > 0) {
    ::unlink(log_part_path(path_, last).c_str());
    ::unlink(log_times_path(path_, last).c_str());
  }
  return open();
}

int LogFile::write(std::string_view& bytes, int64_t time_ms) {
  while (!bytes.empty()) {
    if (!file_.is_open()) {
      if (const int reason = open(); reason != 0) return reason;
    }
    const auto room = static_cast<size_t>(std::max<int64_t>(part_bytes_ - size_, 0));
    const size_t fits = fitting(bytes, room, size_ == 0);
    if (fits == 0) {
      if (const int reason = begin_part(); reason != 0) return reason;
      continue;
    }
    const ssize_t written = ::write(file_.get(), bytes.data(), fits);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
    times_.add(static_cast<size_t>(written), time_ms);
  }
  return 0;
}

}  // namespace rtrain
