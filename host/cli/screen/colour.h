// host/cli/screen/colour.h: whether output is coloured.
#pragma once

namespace rtrain {

// True where stdout is a terminal and NO_COLOR is not set.
bool wants_colour();

}  // namespace rtrain
