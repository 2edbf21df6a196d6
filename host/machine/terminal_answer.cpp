#include "host/machine/terminal_answer.h"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.h"
#include "host/base/files/fd.h"
#include "host/base/files/write_all.h"
#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

// While it exists, the terminal does not echo, and reads do not wait for the end of a line.
class UneditedInput {
 public:
  explicit UneditedInput(int fd) : fd_(fd), is_changed_(tcgetattr(fd, &before_) == 0) {
    if (!is_changed_) return;
    termios changed = before_;
    changed.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(fd_, TCSANOW, &changed);
  }
  // If a late answer has arrived by now, it is dropped.
  ~UneditedInput() {
    if (is_changed_) tcsetattr(fd_, TCSAFLUSH, &before_);
  }
  UneditedInput(const UneditedInput&) = delete;
  UneditedInput& operator=(const UneditedInput&) = delete;

 private:
  int fd_;
  termios before_{};
  bool is_changed_;
};

// Returns the attributes "62;4;22" of "\x1b[?62;4;22c", once the answer has arrived.
std::optional<std::string_view> attributes_in(std::string_view input) {
  constexpr std::string_view kBegin = "\x1b[?";
  const size_t begin = input.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view answer = input.substr(begin + kBegin.size());
  const size_t end = answer.find('c');
  if (end == std::string_view::npos) return std::nullopt;
  return answer.substr(0, end);
}

std::string answered_attributes(int fd, double timeout_s) {
  const double end_s = monotonic_s() + timeout_s;
  std::string input;
  for (;;) {
    pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
    const double left_s = std::max(0.0, end_s - monotonic_s());
    if (::poll(&waits, 1, static_cast<int>(to_ms(left_s).count())) <= 0) return "";
    std::array<char, 256> part{};
    const ssize_t size = ::read(fd, part.data(), part.size());
    if (size <= 0) return "";
    input.append(part.data(), static_cast<size_t>(size));
    if (const auto found = attributes_in(input)) return std::string(*found);
  }
}

}  // namespace

bool terminal_has_sixel(int fd, double timeout_s) {
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  // A read in the background would stop the process.
  if (::tcgetpgrp(fd) != ::getpgrp()) return false;
  const Fd terminal(::open(cat("/proc/self/fd/", fd).c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.is_open()) return false;
  const UneditedInput input(terminal.get());
  constexpr std::string_view kQuestion = "\x1b[c";
  if (!write_all(terminal.get(), kQuestion)) return false;
  constexpr std::string_view kSixel = "4";
  const std::vector<std::string> attributes =
      split(answered_attributes(terminal.get(), timeout_s), ';');
  return std::find(attributes.begin(), attributes.end(), kSixel) != attributes.end();
}

}  // namespace rtrain::machine
