// host/bind/services.h: this process's HostApi for the engine.
#pragma once

#include "host/api/host_api.h"

namespace rtrain::bind {

// Created once; lives as long as the process. Functions of the attempt's Store only work while this
// process is a worker; otherwise they throw kArgument.
const api::HostApi& host_api();

}  // namespace rtrain::bind
