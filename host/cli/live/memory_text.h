// host/cli/live/memory_text.h: a memory profile of a rank for people.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain {

// Throws Error(kEnvironment) naming the file.
Value read_memory_report(const std::string& path);

// For each device a line with what its tensors have, a curve of that, the lines of the script that
// have the most of what was made meanwhile, and the largest tensors. Lines that end in "\n".
std::string memory_text(const Value& profile);

}  // namespace rtrain
