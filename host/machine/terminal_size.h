// host/machine/terminal_size.h: how large a terminal is.
#pragma once

#include <cstddef>
#include <optional>

namespace rtrain::machine {

struct TerminalSize {
  size_t columns = 0;
  size_t rows = 0;
  size_t width_pixels = 0;  // 0: it does not say
};

// Of the terminal behind a descriptor, as it is now; nothing: there is none.
std::optional<TerminalSize> terminal_size(int fd);

}  // namespace rtrain::machine
