// host/lua/libraries/isolated_library.h: a library that is loaded with its own copies of all
// libraries that it needs, even the C library. So it allocates with that C library's malloc.
#pragma once

#include <string>

namespace rtrain::lua {

// Loads it, for the life of the process, and returns a handle for dlsym. Its threads may begin and
// end during those of the process. Throws Error(kEnvironment) when it cannot be loaded.
void* open_isolated_library(const std::string& path);

}  // namespace rtrain::lua
