// host/cuda/events.h: events of a device's streams.
#pragma once

#include "host/engine/cuda/events_api.h"

namespace rtrain::cuda {

engine::CudaEventsApi cuda_events_api();

}  // namespace rtrain::cuda
