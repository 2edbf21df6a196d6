// host/machine/terminal_size.h: the size of a terminal.
#pragma once

#include <cstddef>
#include <optional>

namespace rtrain::machine {

struct TerminalSize {
  size_t columns = 0;
  size_t rows = 0;
  size_t width_pixels = 0;  // 0: the terminal does not say
};

// Returns the present size of the terminal behind a descriptor; nothing if it is not a terminal.
std::optional<TerminalSize> terminal_size(int fd);

}  // namespace rtrain::machine
