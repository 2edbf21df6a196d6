// The kernels of the simulated device. They do nothing, except those that fill memory with one
// value. After FAKE_CUDA_GOOD_LAUNCHES launches every further launch fails with
// FAKE_CUDA_LAUNCH_ERROR.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../settings.h"
#include "stream.h"

namespace fake_gpu {
namespace {

struct Kernel {
  std::string name;
};

struct Launch {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};

std::mutex mutex;
std::map<const void*, Kernel>& kernels() {
  static auto* const the = new std::map<const void*, Kernel>;
  return *the;
}

thread_local std::vector<Launch> launches;
void* binary = nullptr;

// Returns the bytes of a type from its mangled name at the start of the text; 0 for a type that is
// not simulated.
size_t bytes_of(const std::string& type) {
  switch (type.empty() ? 0 : type[0]) {
    case 'b':
    case 'h':
    case 'a':
      return 1;
    case 's':
      return 2;
    case 'i':
    case 'f':
      return 4;
    case 'l':
    case 'd':
      return 8;
    default:
      return type.starts_with("N3c104Half") || type.starts_with("N3c108BFloat16") ? 2 : 0;
  }
}

// Simulates LibTorch's fill kernels: (int count, functor with the value, array with one pointer).
Work fill_work(const std::string& name, void** arguments) {
  const size_t at = name.find("FillFunctorI");
  if (at == std::string::npos || name.find("elementwise_kernel") == std::string::npos) return {};
  const size_t size = bytes_of(name.substr(at + std::strlen("FillFunctorI")));
  if (size == 0) return {};
  const int count = *static_cast<int*>(arguments[0]);
  const std::string value(static_cast<char*>(arguments[1]), size);
  char* to = *static_cast<char**>(arguments[2]);
  return [=] {
    for (int i = 0; i < count; ++i)
      std::memcpy(to + static_cast<size_t>(i) * size, value.data(), size);
  };
}

cudaError_t launch(const void* function, void** arguments, cudaStream_t stream) {
  static std::atomic<long> count{0};
  const long error = fake_nvidia::number("FAKE_CUDA_LAUNCH_ERROR", 0);
  if (error != 0 && ++count > fake_nvidia::number("FAKE_CUDA_GOOD_LAUNCHES", 0))
    set_sticky_error(static_cast<cudaError_t>(error));
  if (sticky_error() != cudaSuccess) return fail(sticky_error());
  std::string name;
  {
    const std::lock_guard lock(mutex);
    name = kernels()[function].name;
  }
  Work work = fill_work(name, arguments);
  stream_of(stream).give(work ? std::move(work) : [] {});
  return cudaSuccess;
}

}  // namespace
}  // namespace fake_gpu

using fake_gpu::Launch;
using fake_gpu::launches;

extern "C" {

void** __cudaRegisterFatBinary(void*) { return &fake_gpu::binary; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::lock_guard lock(fake_gpu::mutex);
  fake_gpu::kernels()[function].name = name;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  launches.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const Launch launch = launches.back();
  launches.pop_back();
  *grid = launch.grid;
  *block = launch.block;
  *shared = launch.shared;
  *static_cast<cudaStream_t*>(stream) = launch.stream;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void** arguments, size_t,
                               cudaStream_t stream) {
  return fake_gpu::launch(kernel, arguments, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return fake_gpu::launch(function, arguments, config->stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void*) {
  *out = {};
  out->maxThreadsPerBlock = 1024;
  out->numRegs = 32;
  out->binaryVersion = out->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   size_t, unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
}
