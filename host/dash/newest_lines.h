// host/dash/newest_lines.h: the last lines of many.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "host/base/value.h"
#include "host/store/run_logs.h"

namespace rtrain {

class NewestLines {
 public:
  explicit NewestLines(size_t most) : most_(most) {}

  void add(const RunLogLine& line);
  // As describe_log_line has them, the oldest first; none is left.
  List take();

 private:
  struct Kept {
    RunLogLine line;
    std::string text;  // of the line
  };

  size_t most_;
  std::deque<Kept> lines_;
};

}  // namespace rtrain
