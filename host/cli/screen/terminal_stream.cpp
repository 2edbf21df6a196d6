#include "host/cli/screen/terminal_stream.h"

#include <unistd.h>

namespace rtrain::cli {

TerminalStream::TerminalStream(std::ostream& stream, int fd) : stream_(stream) {
  if (isatty(fd) == 1) under_ = stream.rdbuf(this);
}

TerminalStream::~TerminalStream() {
  if (under_ == nullptr) return;
  put(text_.finish());
  under_->pubsync();
  stream_.rdbuf(under_);
}

bool TerminalStream::put(const std::string& text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return under_->sputn(text.data(), size) == size;
}

TerminalStream::int_type TerminalStream::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return put(text_.add({&byte, 1})) ? c : traits_type::eof();
}

std::streamsize TerminalStream::xsputn(const char* bytes, std::streamsize size) {
  return put(text_.add({bytes, static_cast<size_t>(size)})) ? size : 0;
}

int TerminalStream::sync() { return under_->pubsync(); }

}  // namespace rtrain::cli
