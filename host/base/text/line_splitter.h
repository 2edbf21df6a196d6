// host/base/text/line_splitter.h: splits a stream of bytes into lines. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

class LineSplitter {
 public:
  // A longer line is returned in pieces.
  static constexpr size_t kMaxLineBytes = 65536;

  // Returns the lines that these bytes complete, without newlines.
  std::vector<std::string> add(std::string_view bytes);
  // Returns the visible text of an unfinished line with carriage returns, such as a progress bar;
  // otherwise "".
  std::string_view progress() const;
  // Returns the unfinished line. Call it at the end of the stream.
  std::string finish();

 private:
  std::string line_;
};

}  // namespace rtrain
