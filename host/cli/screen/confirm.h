// host/cli/screen/confirm.h: asks before something is removed.
#pragma once

#include <string>

namespace rtrain::cli {

// Returns true if `yes` is set or the user answers yes. Asks "<question>? [y/N]" on stderr and
// reads a line from stdin. Throws Error(kUsage) if stdin is not a terminal, because an answer may
// never come.
bool confirm(const std::string& question, bool yes);

}  // namespace rtrain::cli
