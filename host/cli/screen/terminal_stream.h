// host/cli/screen/terminal_stream.h: while it lives, what is written to a stream of C++ (std::cout)
// and ends on a terminal is made safe to show there (host/base/text/terminal_text.h). A stream that
// goes to a file or pipe is left as it is.
#pragma once

#include <ostream>
#include <streambuf>

#include "host/base/text/terminal_text.h"

namespace rtrain {

class TerminalStream : private std::streambuf {
 public:
  // `fd`: where the stream's bytes go.
  TerminalStream(std::ostream& stream, int fd);
  ~TerminalStream() override;
  TerminalStream(const TerminalStream&) = delete;
  TerminalStream& operator=(const TerminalStream&) = delete;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize size) override;
  int sync() override;
  bool put(const std::string& text);

  std::ostream& stream_;
  std::streambuf* under_ = nullptr;  // null: nothing was changed
  TerminalText text_;
};

}  // namespace rtrain
