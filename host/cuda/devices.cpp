#include "host/cuda/devices.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <string_view>

namespace rtrain::cuda {
namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

c10::DeviceIndex to_index(int device) { return static_cast<c10::DeviceIndex>(device); }

int count() { return c10::cuda::device_count(); }

int current() { return c10::cuda::current_device(); }

void set_current(int device) { c10::cuda::set_device(to_index(device)); }

engine::CudaDeviceProperties properties(int device) {
  const cudaDeviceProp& from = *at::cuda::getDeviceProperties(to_index(device));
  return {.name = from.name,
          .uuid = uuid_text(from.uuid),
          .major = from.major,
          .minor = from.minor,
          .total_memory = static_cast<int64_t>(from.totalGlobalMem),
          .multi_processor_count = from.multiProcessorCount,
          .max_threads_per_multi_processor = from.maxThreadsPerMultiProcessor,
          .regs_per_multiprocessor = from.regsPerMultiprocessor,
          .shared_memory_per_block = static_cast<int64_t>(from.sharedMemPerBlock),
          .l2_cache_size = from.l2CacheSize,
          .warp_size = from.warpSize,
          .is_integrated = from.integrated != 0,
          .is_multi_gpu_board = from.isMultiGpuBoard != 0};
}

engine::CudaMemory memory(int device) {
  const c10::cuda::CUDAGuard guard(to_index(device));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return {static_cast<int64_t>(free_bytes), static_cast<int64_t>(total_bytes)};
}

void synchronize(int device) {
  const c10::cuda::CUDAGuard guard(to_index(device));
  c10::cuda::device_synchronize();
}

}  // namespace

engine::CudaDevicesApi cuda_devices_api() {
  return {.count = &count,
          .current = &current,
          .set_current = &set_current,
          .properties = &properties,
          .memory = &memory,
          .synchronize = &synchronize};
}

}  // namespace rtrain::cuda
