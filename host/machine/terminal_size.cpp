#include "host/machine/terminal_size.h"

#include <sys/ioctl.h>

namespace rtrain {

std::optional<TerminalSize> terminal_size(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return TerminalSize{size.ws_col, size.ws_row, size.ws_xpixel};
}

}  // namespace rtrain
