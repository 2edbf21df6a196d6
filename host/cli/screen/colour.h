// host/cli/screen/colour.h: whether output is coloured.
#pragma once

namespace rtrain::cli {

// Returns true if stdout is a terminal and NO_COLOR is not set.
bool wants_colour();

}  // namespace rtrain::cli
