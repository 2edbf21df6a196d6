// host/machine/processes/build_id.h: which build of rtrain this process runs.
#pragma once

#include <string>

namespace rtrain::machine {

// Returns the GNU build id of this executable, in hexadecimal; "" if it was linked without one.
std::string build_id();

}  // namespace rtrain::machine
