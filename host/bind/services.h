// host/bind/services.h: the HostApi of this process, as the engine sees it.
#pragma once

#include "host/api/host_api.h"

namespace rtrain {

// Filled once; lives as long as the process. The Store of the attempt is there while this process
// is a worker; else its functions throw kArgument.
const HostApi& host_api();

}  // namespace rtrain
