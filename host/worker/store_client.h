// host/worker/store_client.h: the functions with which the engine uses the attempt's key-value
// store (torch.distributed's Store), from any thread of a worker.
#pragma once

#include "host/api/host_api.h"

namespace rtrain::worker {

// Sets the Store functions of `api`. Call it in a worker process.
void add_store_functions(api::HostApi& api);

}  // namespace rtrain::worker
