// host/bind/services.h: the HostApi of this process, as the engine sees it.
#pragma once

#include "host/base/host_api.h"

namespace rtrain {

// Filled once; lives as long as the process. In a worker it has the Store of the attempt, elsewhere
// none: the WorkerProcess must exist before the first call.
const HostApi& host_api();

}  // namespace rtrain
