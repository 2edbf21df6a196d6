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

  // The lines completed by these bytes, without newlines.
  std::vector<std::string> add(std::string_view bytes);
  // The visible text of an unfinished line with carriage returns, such as a progress bar; else
  // empty.
  std::string_view progress() const;
  // The unfinished line. Call it at the end of the stream.
  std::string finish();

 private:
  std::string line_;
};

}  // namespace rtrain
