// host/worker/store_client.h: the attempt's key-value store as the engine calls it, from any thread
// of a worker.
#pragma once

#include "host/api/host_api.h"

namespace rtrain::worker {

// Fills in the Store functions. For a worker process.
void add_store_functions(api::HostApi& api);

}  // namespace rtrain::worker
