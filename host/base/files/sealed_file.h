// host/base/files/sealed_file.h: bytes as a memory file that nobody can change any more.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// The descriptor, close-on-exec. Throws Error(kEnvironment): "cannot keep <what> in memory".
int sealed_file(const std::string& name, std::string_view bytes, std::string_view what);

}  // namespace rtrain
