#include "host/loop/line_reader.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace rtrain {
namespace {
constexpr size_t kMaxLineBytes = 65536;
// One reader may not keep the loop from the others: what is left comes in the next round.
constexpr size_t kMaxBytesARound = 1 << 20;
}  // namespace

LineReader::LineReader(Loop& loop, int fd, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), poll_(loop, fd, [this](int) {
        if (!drain()) close();
      }) {
  poll_.start(UV_READABLE);
}

bool LineReader::drain() {
  std::array<char, 65536> buffer;
  for (size_t total = 0; open_ && total < kMaxBytesARound;) {
    const ssize_t n = ::read(poll_.fd(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    add({buffer.data(), static_cast<size_t>(n)});
    total += static_cast<size_t>(n);
  }
  return open_;
}

void LineReader::add(std::string_view bytes) {
  callbacks_.on_bytes(bytes);
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    const bool whole = end != std::string_view::npos;
    if (whole || line_.size() >= kMaxLineBytes) {
      callbacks_.on_line(std::move(line_));
      line_.clear();
    }
    bytes.remove_prefix(whole ? end + 1 : bytes.size());
  }
  if (callbacks_.on_progress) show_progress();
}

// A carriage return ends what it stands behind, or begins what comes after it.
void LineReader::show_progress() {
  const size_t last = line_.find_last_not_of('\r');
  if (last == std::string::npos || line_.find('\r') == std::string::npos) return;
  const size_t before = line_.find_last_of('\r', last);
  const size_t first = before == std::string::npos ? 0 : before + 1;
  callbacks_.on_progress(std::string_view(line_).substr(first, last - first + 1));
}

void LineReader::hold(bool held) { held ? poll_.stop() : poll_.start(UV_READABLE); }

void LineReader::close() {
  if (!open_) return;
  open_ = false;
  poll_.close();
  if (!line_.empty()) callbacks_.on_line(std::move(line_));
}

}  // namespace rtrain
