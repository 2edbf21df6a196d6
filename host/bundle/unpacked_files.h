// host/bundle/unpacked_files.h: unpacks files of the executable that another program must read from
// a folder.
#pragma once

#include <span>
#include <string>

#include "host/base/text/named_text.h"

namespace rtrain::bundle {

// Writes the files (paths below a folder, and texts) into `<base>-<hash of all>`, once: first into
// another folder, which is then renamed, so that processes that do this at the same time never see
// an incomplete folder. Returns the folder. Throws Error(kEnvironment).
std::string unpack_once(const std::string& base, std::span<const NamedText> files);

}  // namespace rtrain::bundle
