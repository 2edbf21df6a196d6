// host/machine/processes/process_limits.h: limits that a shell sets for its processes (`ulimit`),
// as texts for messages about failures that they cause; "" without a limit.
#pragma once

#include <string>

namespace rtrain::machine {

// " (`ulimit -v` allows a process 450000 KiB of addresses)"
std::string address_limit_text();
// " (`ulimit -f` allows files of 600 KiB)"
std::string file_size_limit_text();

}  // namespace rtrain::machine
