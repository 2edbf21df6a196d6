#include "host/base/files/log_times.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "host/base/files/inner_file.h"
#include "host/base/files/store_access.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

constexpr unsigned kBits = 7;
constexpr uint64_t kMore = 1 << kBits;

void add_number(std::string& out, uint64_t number) {
  for (; number >= kMore; number >>= kBits) {
    out.push_back(static_cast<char>((number & (kMore - 1)) | kMore));
  }
  out.push_back(static_cast<char>(number));
}

// Takes a number from the front; nullopt if it is incomplete.
std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes.size() && i * kBits < 64; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    number |= (byte & (kMore - 1)) << (i * kBits);
    if (byte >= kMore) continue;
    bytes.remove_prefix(i + 1);
    return number;
  }
  return std::nullopt;
}

}  // namespace

std::string log_times_path(std::string_view log_path, int64_t part) {
  constexpr std::string_view kLog = ".log";
  if (log_path.ends_with(kLog)) log_path.remove_suffix(kLog.size());
  return part > 0 ? cat(log_path, ".times.", part) : cat(log_path, ".times");
}

void LogTimesWriter::add(size_t bytes, int64_t time_ms) {
  std::string mark;
  const bool is_new = !file_.is_open();
  if (is_new) file_ = Fd(open_in_store(path_, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK));
  if (!file_.is_open()) return;
  // It writes a mark with the absolute time, because the clock may have been set back.
  if (is_new || time_ms < last_ms_) {
    add_number(mark, 0);
    add_number(mark, static_cast<uint64_t>(time_ms));
    last_ms_ = time_ms;
  }
  add_number(mark, bytes);
  add_number(mark, static_cast<uint64_t>(time_ms - last_ms_));
  last_ms_ = time_ms;
  // An incomplete mark would make all later ones unreadable.
  if (::write(file_.get(), mark.data(), mark.size()) != static_cast<ssize_t>(mark.size())) {
    path_ = "/dev/null";
    reopen();
  }
}

int64_t LogTimesReader::at(uint64_t place) {
  while (covered_ <= place && read_mark()) continue;
  return time_ms_;
}

bool LogTimesReader::read_mark() {
  while (true) {
    std::string_view rest = bytes_;
    const auto bytes = take_number(rest);
    const auto time = bytes ? take_number(rest) : std::nullopt;
    if (time) {
      time_ms_ =
          static_cast<int64_t>(*bytes == 0 ? *time : static_cast<uint64_t>(time_ms_) + *time);
      covered_ += *bytes;
      bytes_.erase(0, bytes_.size() - rest.size());
      return true;
    }
    if (!fill()) return false;
  }
}

bool LogTimesReader::fill() {
  const Fd file(open_beneath(folder_, path_, O_RDONLY | O_NONBLOCK));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return false;
  if (inode_ != 0 && inode_ != info.st_ino) return false;
  inode_ = info.st_ino;
  std::array<char, 1024> buffer;
  const ssize_t got =
      ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(file_place_));
  if (got <= 0) return false;
  bytes_.append(buffer.data(), static_cast<size_t>(got));
  file_place_ += static_cast<uint64_t>(got);
  return true;
}

}  // namespace rtrain
