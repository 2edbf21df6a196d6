// host/cuda/devices.h: the devices that this process sees.
#pragma once

#include "host/engine/cuda/devices_api.h"

namespace rtrain::cuda {

engine::CudaDevicesApi cuda_devices_api();

}  // namespace rtrain::cuda
