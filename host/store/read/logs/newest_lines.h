// host/store/read/logs/newest_lines.h: keeps the last of many lines.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "host/base/value.h"
#include "host/store/read/logs/run_logs.h"

namespace rtrain::store {

class NewestLines {
 public:
  explicit NewestLines(size_t most) : most_(most) {}

  void add(const RunLogLine& line);
  // Passes the lines to `use`, oldest first, and removes them.
  void take(const std::function<void(const RunLogLine& line)>& use);

 private:
  struct Kept {
    RunLogLine line;
    std::string text;  // of the line
  };

  size_t most_;
  std::deque<Kept> lines_;
};

// All lines as describe_log_line formats them; removes them.
List describe_log_lines(NewestLines& lines);

}  // namespace rtrain::store
