// host/cli/screen/terminal_stream.h: while it exists, output to a C++ stream (std::cout) that goes
// to a terminal is made safe to show (host/base/text/terminal_text.h). Output to a file or pipe is
// unchanged.
#pragma once

#include <ostream>
#include <streambuf>

#include "host/base/text/terminal_text.h"

namespace rtrain::cli {

class TerminalStream : private std::streambuf {
 public:
  // `fd`: the stream's descriptor.
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
  std::streambuf* under_ = nullptr;  // null: the stream was not changed
  TerminalText text_;
};

}  // namespace rtrain::cli
