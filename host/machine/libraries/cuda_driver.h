// host/machine/libraries/cuda_driver.h: NVIDIA's driver, asked through libcuda.so.1, which comes
// with it: which devices this process sees (CUDA_VISIBLE_DEVICES is the driver's own matter), or
// why none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::machine {

struct CudaDevice {
  std::string uuid;  // as CUDA_VISIBLE_DEVICES takes it, see below
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int64_t memory_bytes = 0;
};

struct CudaDriver {
  std::vector<CudaDevice> devices;  // number 0 is 'cuda:0' of this process
  std::string reason;  // why there are none: "no NVIDIA driver: libcuda.so.1 is not there"
};

using CudaUuid = std::array<unsigned char, 16>;

// "GPU-" and 8-4-4-4-12 digits; "MIG-" for a part of a device, which has a UUID of its own. Its
// name says which it is: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". Pure.
std::string cuda_uuid_text(const CudaUuid& bytes, std::string_view device_name);

// Whether the driver's library is on this machine; starts nothing.
bool has_cuda_driver();

// Starts the driver in this process, once; makes no context and so takes no memory of a device.
const CudaDriver& cuda_driver();

}  // namespace rtrain::machine
