// The devices of the simulated runtime: the devices that the simulated driver shows, all like an
// H100.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>

#include "../settings.h"
#include "stream.h"

using fake_nvidia::visible_devices;

namespace fake_gpu {
namespace {

thread_local int device = 0;

bool is_device(int number) {
  return number >= 0 && number < static_cast<int>(visible_devices().size());
}

int not_supported() { return cudaErrorNotSupported; }

}  // namespace

int current_device() { return device; }

}  // namespace fake_gpu

using fake_gpu::fail;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(visible_devices().size());
  return *count == 0 ? fail(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaGetDevice(int* out) {
  *out = fake_gpu::device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  if (!fake_gpu::is_device(number)) return fail(cudaErrorInvalidDevice);
  fake_gpu::device = number;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int number) {
  if (!fake_gpu::is_device(number)) return fail(cudaErrorInvalidDevice);
  *out = {};
  std::snprintf(out->name, sizeof out->name, "%s", fake_nvidia::device_name());
  fake_nvidia::write_uuid(out->uuid.bytes, visible_devices()[static_cast<size_t>(number)]);
  out->totalGlobalMem = static_cast<size_t>(fake_nvidia::number("FAKE_CUDA_MEMORY", 80L << 30));
  out->major = 9;
  out->multiProcessorCount = 132;
  out->warpSize = 32;
  out->maxThreadsPerBlock = 1024;
  out->maxThreadsPerMultiProcessor = 2048;
  out->maxBlocksPerMultiProcessor = 32;
  for (int axis = 0; axis < 3; ++axis) {
    out->maxThreadsDim[axis] = axis == 2 ? 64 : 1024;
    out->maxGridSize[axis] = axis == 0 ? 2147483647 : 65535;
  }
  out->regsPerBlock = out->regsPerMultiprocessor = 65536;
  out->sharedMemPerBlock = 48 << 10;
  out->sharedMemPerBlockOptin = 227 << 10;
  out->sharedMemPerMultiprocessor = 228 << 10;
  out->totalConstMem = 64 << 10;
  out->pciBusID = number + 1;  // as in the address below
  out->l2CacheSize = 50 << 20;
  out->asyncEngineCount = 3;
  out->concurrentKernels = out->unifiedAddressing = out->canMapHostMemory = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, number)) return error;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = properties.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 227 << 10;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = properties.maxGridSize[0];
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = properties.maxGridSize[1];
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* out, int size, int number) {
  std::snprintf(out, static_cast<size_t>(size), "0000:%02x:00.0", number + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

// Functions that the simulated driver lacks give CUDA_ERROR_NOT_SUPPORTED.
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  *entry = driver == nullptr ? nullptr : dlsym(driver, name);
  if (*entry == nullptr) *entry = reinterpret_cast<void*>(&fake_gpu::not_supported);
  if (status != nullptr) *status = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorAssert:
      return "cudaErrorAssert";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureImplicit:
      return "cudaErrorStreamCaptureImplicit";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorAssert:
      return "device-side assert triggered";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureImplicit:
      return "operation would make the legacy stream depend on a capturing blocking stream";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    default:
      return "unknown error";
  }
}
}
