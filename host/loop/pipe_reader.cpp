#include "host/loop/pipe_reader.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace rtrain::loop {
namespace {
// So one reader cannot block the loop's other work; it reads the rest in the next round.
constexpr size_t kMaxBytesARound = 1 << 20;
}  // namespace

PipeReader::PipeReader(Loop& loop, int fd, OnBytes on_bytes)
    : on_bytes_(std::move(on_bytes)), poll_(loop, fd, [this](int) {
        if (!drain()) close();
      }) {
  poll_.start(UV_READABLE);
}

bool PipeReader::drain() {
  std::array<char, 65536> buffer;
  for (size_t total = 0; open_ && total < kMaxBytesARound;) {
    const ssize_t n = ::read(poll_.fd(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    on_bytes_({buffer.data(), static_cast<size_t>(n)});
    total += static_cast<size_t>(n);
  }
  return open_;
}

void PipeReader::hold(bool held) { held ? poll_.stop() : poll_.start(UV_READABLE); }

void PipeReader::close() {
  if (!open_) return;
  open_ = false;
  poll_.close();
}

}  // namespace rtrain::loop
