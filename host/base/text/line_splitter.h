// host/base/text/line_splitter.h: cuts a stream of bytes into lines. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

class LineSplitter {
 public:
  // The lines that the bytes end, without their newlines. Lines above 64 KiB come in pieces.
  std::vector<std::string> add(std::string_view bytes);
  // What an unfinished line with carriage returns shows now, as a bar does; else empty.
  std::string_view progress() const;
  // The unfinished line, at the end of the stream.
  std::string finish();

 private:
  std::string line_;
};

}  // namespace rtrain
