// host/machine/libraries/library_call.h: a function of a library that was loaded by its name,
// called by its own.
#pragma once

#include <dlfcn.h>

namespace rtrain::machine {

inline constexpr int kNoFunction = -1;

// The result of the C function; kNoFunction where the library lacks it, or is not there (null). The
// arguments have to be of the function's own types.
template <class... Args>
int call_library(void* library, const char* name, Args... args) {
  if (library == nullptr) return kNoFunction;
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function == nullptr ? kNoFunction : function(args...);
}

}  // namespace rtrain::machine
