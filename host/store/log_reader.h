// host/store/log_reader.h: reads a worker's log line by line as it grows, its kept parts in order
// (host/base/log_file.h).
//
// Holds one line, whatever the size of the log. A line above 64 KiB comes in pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/store/file.h"

namespace rtrain {

class LogReader {
 public:
  using Use = std::function<void(std::string_view line)>;

  // Throws Error(kEnvironment) when it cannot be opened.
  explicit LogReader(std::string path);

  // True when there were parts before the first one read.
  bool lost_lines() const { return lost_lines_; }

  // Gives the lines that were written since the last call, without their newlines; with at_end also
  // the last one, which has none.
  void read(bool at_end, const Use& use);

 private:
  void read_part(const Use& use);
  bool open_next(const Use& use);
  void add(std::string_view bytes, const Use& use);

  std::string path_;
  OpenFile file_;
  bool lost_lines_ = false;
  std::string line_;  // begun and not ended
};

}  // namespace rtrain
