// host/lua/libraries/isolated_library.h: a library that is loaded with copies of its own of all
// that it needs, the C library among them: what it allocates comes from that C library's malloc.
#pragma once

#include <string>

namespace rtrain::lua {

// Loads it, for the life of the process, and returns what dlsym takes. Its threads may begin and
// end while the process's own do. Throws Error(kEnvironment) where it cannot be loaded.
void* open_isolated_library(const std::string& path);

}  // namespace rtrain::lua
