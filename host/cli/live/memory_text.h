// host/cli/live/memory_text.h: formats a rank's memory profile for users.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain::cli {

// Throws Error(kEnvironment) naming the file.
Value read_memory_report(const std::string& path);

// For each device: a line with its tensors' memory, a curve of it, the lines of the script with the
// largest allocations during the profile, and the largest tensors. Lines end in "\n".
std::string memory_text(const Value& profile);

}  // namespace rtrain::cli
