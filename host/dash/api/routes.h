// host/dash/api/routes.h: the table of all addresses below /api/.
#pragma once

#include <span>

#include "host/dash/api/route.h"

namespace rtrain::dash {

std::span<const Route> all_routes();

}  // namespace rtrain::dash
