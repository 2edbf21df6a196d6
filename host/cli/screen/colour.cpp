#include "host/cli/screen/colour.h"

#include <unistd.h>

#include <cstdlib>

namespace rtrain::cli {

bool wants_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace rtrain::cli
