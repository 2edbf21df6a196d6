// host/cli/screen/line_history.h: the lines that were typed before, in a file for the user alone.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

class LineHistory {
 public:
  // Reads the file, of which the newest lines are kept. Without a path, or where the file cannot be
  // read or made, the history is that of this session alone.
  explicit LineHistory(std::string path);

  const std::vector<std::string>& lines() const { return lines_; }
  // Appends the line to the file, next to those of other sessions. Not kept: what is empty, the
  // same as the line before, or begins with a space.
  void add(const std::string& line);

 private:
  std::string path_;
  std::vector<std::string> lines_;
};

}  // namespace rtrain
