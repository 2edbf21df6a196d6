// host/base/files/sealed_file.h: a memory file that cannot be changed.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// Returns its descriptor, close-on-exec. Throws Error(kEnvironment): "cannot keep <what> in
// memory".
int sealed_file(const std::string& name, std::string_view bytes, std::string_view what);

}  // namespace rtrain
