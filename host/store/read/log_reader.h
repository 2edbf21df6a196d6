// host/store/read/log_reader.h: reads a worker's log line by line as it grows, its kept parts in
// order (host/base/files/log_file.h).
//
// Holds a line and a block of bytes, whatever the size of the log. A line above 64 KiB comes in
// pieces.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/files/log_times.h"
#include "host/store/files/file.h"

namespace rtrain {

struct LogLine {
  std::string_view text;  // without its newline; until the next call
  int64_t time_ms = 0;    // when its end was printed, since 1970; 0: nothing says
};

class LogReader {
 public:
  // "<folder>/…", through no symlink below the folder. Throws Error(kEnvironment) when it cannot be
  // opened.
  LogReader(std::string folder, std::string path);

  // Before the first line: goes to the first of at least as many last lines, where there are more.
  void skip_to_last(int64_t lines);

  // True when there were parts before the first one read.
  bool lost_lines() const { return lost_lines_; }

  // The next line; nothing where none is whole yet. With at_end also the last one, which has no
  // newline.
  std::optional<LogLine> next(bool at_end);

 private:
  bool take_line();
  bool fill();
  bool has_next_part() const;
  bool open_next();
  LogLine taken();
  OpenFile opened(const std::string& path) const { return {folder_, path, O_RDONLY}; }
  LogTimesReader times_of(int64_t part) const { return {folder_, log_times_path(path_, part)}; }

  std::string folder_;
  std::string path_;
  OpenFile file_;
  LogTimesReader times_;
  uint64_t place_ = 0;  // in the part: behind what was taken
  bool lost_lines_ = false;
  std::string block_;
  size_t used_ = 0;    // of the block
  std::string line_;   // begun and not ended
  std::string given_;  // by the last call
};

}  // namespace rtrain
