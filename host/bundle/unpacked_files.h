// host/bundle/unpacked_files.h: files of the executable that another program has to read from a
// folder.
#pragma once

#include <span>
#include <string>

#include "host/base/text/named_text.h"

namespace rtrain::bundle {

// Writes the files (paths below a folder, and texts) into `<base>-<hash of all>`, once: into
// another folder that is then renamed, so that processes that come at the same time never see half
// of them. Returns the folder. Throws Error(kEnvironment).
std::string unpack_once(const std::string& base, std::span<const NamedText> files);

}  // namespace rtrain::bundle
