// host/engine/memory/out_of_memory.h: the error for a device or CPU that is out of
// memory.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <optional>
#include <string>

#include "host/base/error.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// The failed request, kept until after the catch handler.
struct OutOfMemory {
  explicit OutOfMemory(const c10::OutOfMemoryError& e) : text(e.what_without_backtrace()) {}
  std::string text;  // LibTorch's
};

// Summarizes LibTorch's text, the devices' statistics and advice, as kOutOfMemory.
Error out_of_memory_error(const OutOfMemory& failure);

// The same for an exception; nullopt if it is not about memory. An ErrorTranslator
// (runtime/guard.h).
std::optional<Error> translate_out_of_memory(const std::exception& e);

// Adds the operation, its arguments (may be "") and the largest tensors that the script can reach.
// Searches the whole Lua state: do not call it inside a catch handler.
Error out_of_memory_error(lua_State* L, const OutOfMemory& failure, const std::string& operation,
                          const std::string& arguments);

}  // namespace rtrain::engine
