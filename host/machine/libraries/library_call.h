// host/machine/libraries/library_call.h: calls a function, by its name, of a library that was
// loaded at run time.
#pragma once

#include <dlfcn.h>

namespace rtrain::machine {

inline constexpr int kNoFunction = -1;

// Returns the C function's result; kNoFunction if the library lacks it or is null. The arguments
// must have exactly the types of the function's parameters.
template <class... Args>
int call_library(void* library, const char* name, Args... args) {
  if (library == nullptr) return kNoFunction;
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function == nullptr ? kNoFunction : function(args...);
}

}  // namespace rtrain::machine
