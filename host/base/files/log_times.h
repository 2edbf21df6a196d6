// host/base/files/log_times.h: when the bytes of a log were printed: a file next to each part of
// it, rank-0.times for rank-0.log, rank-0.times.2 for rank-0.log.2 (host/base/files/log_file.h).
//
// It is a sequence of marks: how many bytes, and how many milliseconds after the mark before, both
// as base-128 varints. A mark of no bytes has the time itself, since 1970. Bytes that no mark
// covers, the last ones before a kill, have the time of the last mark. A file that is missing or
// damaged costs the order of lines, never a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/files/fd.h"

namespace rtrain {

// The file with the times of that part; a log whose name does not end in ".log" has them behind
// its whole name.
std::string log_times_path(std::string_view log_path, int64_t part);

// Appends marks. What fails is left out.
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

// Holds no descriptor: a reader of a thousand logs has a thousand of these.
class LogTimesReader {
 public:
  LogTimesReader() = default;
  // "<folder>/…"; it follows no symlink below the folder.
  LogTimesReader(std::string folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  // When the byte at that place of the part was printed; 0 where nothing says. Calls come in the
  // order of the places.
  int64_t at(uint64_t place);

 private:
  bool read_mark();
  bool fill();

  std::string folder_;
  std::string path_;
  uint64_t inode_ = 0;       // another file under the path is that of a later part
  std::string bytes_;        // read, and not used
  uint64_t file_place_ = 0;  // of what comes behind them
  uint64_t covered_ = 0;     // bytes of the log
  int64_t time_ms_ = 0;
};

}  // namespace rtrain
