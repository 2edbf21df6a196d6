// host/cli/screen/line_history.h: the history of typed lines, in a file that only the user can
// read.
#pragma once

#include <string>
#include <vector>

namespace rtrain::cli {

class LineHistory {
 public:
  // Reads the newest lines of the file. If `path` is empty, or the file cannot be read or created,
  // the history is only kept for this session.
  explicit LineHistory(std::string path);

  const std::vector<std::string>& lines() const { return lines_; }
  // Appends the line to the file, after lines of other sessions. Ignores empty lines, repetitions
  // of the previous line, and lines that begin with a space.
  void add(const std::string& line);

 private:
  std::string path_;
  std::vector<std::string> lines_;
};

}  // namespace rtrain::cli
