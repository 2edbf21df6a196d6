// host/cli/screen/confirm.h: the question before something is removed.
#pragma once

#include <string>

namespace rtrain {

// Whether the answer is yes: said before (`yes`), or now. Asks "<question>? [y/N]" on stderr and
// reads a line of stdin. Throws Error(kUsage) where stdin is not a terminal: nothing waits there
// for an answer that may never come.
bool confirm(const std::string& question, bool yes);

}  // namespace rtrain
