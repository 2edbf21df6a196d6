// host/engine/cuda/device_error.h: errors of a device, and of a device that this process lacks.
#pragma once

#include <exception>
#include <optional>

#include "host/base/error.h"

namespace rtrain {

// An ErrorTranslator (runtime/guard.h). A device that is lost is kWorkerLost (fault.h).
std::optional<Error> translate_device_error(const std::exception& e);

}  // namespace rtrain
