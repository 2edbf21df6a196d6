// host/dash/api/openapi.h: /openapi.json, the description of the API for programs. Pure.
#pragma once

#include <span>

#include "host/base/value.h"
#include "host/dash/api/route.h"

namespace rtrain::dash {

// A document of OpenAPI 3.1 with a path for each route.
Value openapi_document(std::span<const Route> routes);

}  // namespace rtrain::dash
