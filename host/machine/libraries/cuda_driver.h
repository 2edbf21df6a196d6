// host/machine/libraries/cuda_driver.h: asks NVIDIA's driver, through its libcuda.so.1, which
// devices this process sees (the driver itself reads CUDA_VISIBLE_DEVICES), or why it sees none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::machine {

struct CudaDevice {
  std::string uuid;  // as in CUDA_VISIBLE_DEVICES, see below
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int64_t memory_bytes = 0;
};

struct CudaDriver {
  std::vector<CudaDevice> devices;  // number 0 is 'cuda:0' of this process
  std::string reason;  // why there are no devices: "no NVIDIA driver: libcuda.so.1 is not there"
};

using CudaUuid = std::array<unsigned char, 16>;

// Formats "GPU-" and 8-4-4-4-12 digits; "MIG-" for a part of a device, which has a UUID of its own
// and is recognized by its name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". Pure.
std::string cuda_uuid_text(const CudaUuid& bytes, std::string_view device_name);

// Whether this machine has the driver's library. Does not start the driver.
bool has_cuda_driver();

// Starts the driver in this process, once. Makes no context, so it takes no memory of a device.
const CudaDriver& cuda_driver();

}  // namespace rtrain::machine
