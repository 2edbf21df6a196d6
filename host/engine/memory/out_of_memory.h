// host/engine/memory/out_of_memory.h: what the error says when a device, or the CPU, has no
// memory left.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <optional>
#include <string>

#include "host/base/error.h"
#include "host/lua/lua.h"

namespace rtrain {

// What failed, kept for after the handler that caught it.
struct OutOfMemory {
  explicit OutOfMemory(const c10::OutOfMemoryError& e) : text(e.what_without_backtrace()) {}
  std::string text;  // LibTorch's
};

// LibTorch's text in short, the figures of the devices, and what helps. kOutOfMemory.
Error out_of_memory_error(const OutOfMemory& failure);

// The same of an exception, where it is one: an ErrorTranslator (runtime/guard.h).
std::optional<Error> translate_out_of_memory(const std::exception& e);

// The same with the operation, its arguments (may be "") and the largest tensors that the script
// can reach. Goes through the whole state: not for use inside a handler.
Error out_of_memory_error(lua_State* L, const OutOfMemory& failure, const std::string& operation,
                          const std::string& arguments);

}  // namespace rtrain
