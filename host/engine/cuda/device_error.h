// host/engine/cuda/device_error.h: translates CUDA errors, and errors of a process without CUDA.
#pragma once

#include <exception>
#include <optional>

#include "host/base/error.h"

namespace rtrain::engine {

// An ErrorTranslator (runtime/guard.h). A lost device gives kWorkerLost (fault.h).
std::optional<Error> translate_device_error(const std::exception& e);

}  // namespace rtrain::engine
