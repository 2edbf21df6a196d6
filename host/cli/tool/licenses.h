// host/cli/tool/licenses.h: the text of `rtrain --version --licenses`.
#pragma once

#include <string>

namespace rtrain::cli {

// Returns the version, LICENSE, NOTICE and the licence of each Debian package included in the
// executable.
std::string licenses_text();

}  // namespace rtrain::cli
