// host/cli/tool/licenses.h: the text of `rtrain --version --licenses`.
#pragma once

#include <string>

namespace rtrain {

// The version, LICENSE, NOTICE and the licence of each Debian package of which something is inside.
std::string licenses_text();

}  // namespace rtrain
