// host/store/read/logs/log_reader.h: reads a worker's log line by line while it grows, including
// its older parts in order (host/base/files/log_file.h).
//
// Holds one line and one block of bytes, whatever the size of the log. A line above 64 KiB is
// returned in pieces.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/files/log_times.h"
#include "host/store/files/file.h"

namespace rtrain::store {

struct LogLine {
  std::string_view text;  // without newline; valid until the next call
  int64_t time_ms = 0;    // when the line was complete, since 1970; 0: unknown
};

class LogReader {
 public:
  // Opens "<folder>/…" without following symlinks below the folder. Throws Error(kEnvironment) if
  // that fails.
  LogReader(std::string folder, std::string path);

  // Call it before the first next(): skips lines, but keeps at least the last `lines`.
  void skip_to_last(int64_t lines);

  // Whether older parts were deleted before the first one that was read.
  bool lost_lines() const { return lost_lines_; }

  // The next complete line; nullopt if there is none yet. With at_end also a last line without a
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
  uint64_t place_ = 0;  // offset in the part, after what was taken
  bool lost_lines_ = false;
  std::string block_;
  size_t used_ = 0;    // bytes of the block taken so far
  std::string line_;   // the incomplete line
  std::string given_;  // the line returned last
};

}  // namespace rtrain::store
