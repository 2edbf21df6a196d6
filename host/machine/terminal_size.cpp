#include "host/machine/terminal_size.h"

#include <sys/ioctl.h>

namespace rtrain::machine {
namespace {

constexpr size_t kUsualRows = 24;

}  // namespace

std::optional<TerminalSize> terminal_size(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  // Some terminals know only their width.
  return TerminalSize{size.ws_col, size.ws_row == 0 ? kUsualRows : size_t{size.ws_row},
                      size.ws_xpixel};
}

}  // namespace rtrain::machine
