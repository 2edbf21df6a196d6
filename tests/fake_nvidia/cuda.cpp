// A libcuda.so.1 that simulates a driver with FAKE_CUDA_DEVICES devices (FAKE_CUDA_NAME: their
// name) or returns the error FAKE_CUDA_ERROR, for tests of everything that happens before a device
// is used. CUDA_VISIBLE_DEVICES may hold numbers and UUIDs, as with the real driver.
#include <dlfcn.h>

#include <cstdio>

#include "settings.h"

using fake_nvidia::visible_devices;

// What libfake_gpu.so has, which is preloaded.
template <class... Args>
static int of_gpu(const char* name, Args... args) {
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(RTLD_DEFAULT, name));
  constexpr int kNotSupported = 801;
  return function == nullptr ? kNotSupported : function(args...);
}

extern "C" {

int cuModuleLoadData(void** module, const void* image) {
  return of_gpu("fake_gpu_load", module, image);
}

int cuModuleUnload(void*) { return 0; }

int cuModuleGetFunction(void** function, void* module, const char* name) {
  return of_gpu("fake_gpu_function", function, module, name);
}

int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                   unsigned, unsigned, void* stream, void** parameters, void**) {
  return of_gpu("fake_gpu_launch", function, blocks, threads, stream, parameters);
}

int cuInit(unsigned) { return static_cast<int>(fake_nvidia::number("FAKE_CUDA_ERROR")); }

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(visible_devices().size());
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = visible_devices().at(static_cast<size_t>(ordinal));
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* bytes, int device) {
  fake_nvidia::write_uuid(bytes, device);
  return 0;
}

int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "%s", fake_nvidia::device_name());
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{80} << 30;
  return 0;
}

// LibTorch calls this to learn whether the process has used the device.
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return 0;
}

int cuCtxGetCurrent(void** context) {
  static char the = 0;
  *context = &the;
  return 0;
}

int cuGetErrorString(int, const char** text) {
  *text = "the driver is of another version";
  return 0;
}
}
