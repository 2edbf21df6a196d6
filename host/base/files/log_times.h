// host/base/files/log_times.h: records when the bytes of a log were printed, in a file next to each
// part: rank-0.times for rank-0.log, rank-0.times.2 for rank-0.log.2 (host/base/files/log_file.h).
//
// The file is a sequence of marks: a number of bytes and the milliseconds since the previous mark,
// both as base-128 varints. A mark of zero bytes has an absolute time, since 1970. Bytes without a
// mark (the last ones before a kill) have the time of the last mark. If a file is missing or
// damaged, the order of lines is lost but no line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/files/fd.h"

namespace rtrain {

// Returns the file with the times of that part. If the log's name does not end in ".log", ".times"
// is appended to the whole name.
std::string log_times_path(std::string_view log_path, int64_t part);

// Appends marks. Ignores errors.
class LogTimesWriter {
 public:
  // Opens nothing yet.
  explicit LogTimesWriter(std::string path) : path_(std::move(path)) {}

  void add(size_t bytes, int64_t time_ms);
  // The next mark opens the path again.
  void reopen() { file_ = Fd(); }

 private:
  std::string path_;
  Fd file_;
  int64_t last_ms_ = 0;
};

// Keeps no file open, because a reader of a thousand logs has a thousand of these.
class LogTimesReader {
 public:
  LogTimesReader() = default;
  // Reads "<folder>/…" without following symlinks below the folder.
  LogTimesReader(std::string folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  // The time at which the byte at that offset of the part was printed; 0 if it is unknown. Offsets
  // must not decrease between calls.
  int64_t at(uint64_t place);

 private:
  bool read_mark();
  bool fill();

  std::string folder_;
  std::string path_;
  uint64_t inode_ = 0;       // a different inode means that the path names a later part
  std::string bytes_;        // read, not yet used
  uint64_t file_place_ = 0;  // offset after `bytes_`
  uint64_t covered_ = 0;     // bytes of the log
  int64_t time_ms_ = 0;
};

}  // namespace rtrain
