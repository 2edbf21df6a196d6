#include "host/cuda/kernels.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda.h>
#include <dlfcn.h>

#include <map>
#include <mutex>

namespace rtrain::cuda {
namespace {

// A function of the driver, which is loaded but not linked.
template <class Function>
Function* driver(const char* name) {
  static void* const kLibrary = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* function = kLibrary == nullptr ? nullptr : dlsym(kLibrary, name);
  TORCH_CHECK(function != nullptr, "NVIDIA's driver has no ", name);
  return reinterpret_cast<Function*>(function);
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver<decltype(cuGetErrorString)>("cuGetErrorString")(result, &text);
  TORCH_CHECK(false, what, ": ", text == nullptr ? "error" : text, " (", static_cast<int>(result),
              ")");
}

class LoadedKernels final : public engine::CudaKernels {
 public:
  LoadedKernels(int device, const std::string& image)
      : device_(static_cast<c10::DeviceIndex>(device)) {
    const c10::cuda::CUDAGuard guard(device_);
    cudaFree(nullptr);  // makes the device's context the thread's
    check(driver<decltype(cuModuleLoadData)>("cuModuleLoadData")(&module_, image.data()),
          "a kernel cannot be loaded");
  }

  ~LoadedKernels() override {
    // At the end of the process the driver may be gone before.
    const auto unload = driver<decltype(cuModuleUnload)>("cuModuleUnload");
    unload(module_);
  }

  void launch(const std::string& name, int64_t blocks, int threads, void** parameters) override {
    const c10::cuda::CUDAGuard guard(device_);
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device_).stream();
    check(driver<decltype(cuLaunchKernel)>("cuLaunchKernel")(
              function(name), static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads),
              1, 1, 0, stream, parameters, nullptr),
          "a kernel cannot be launched");
  }

 private:
  CUfunction function(const std::string& name) {
    const auto [found, is_new] = functions_.try_emplace(name, nullptr);
    if (is_new) {
      check(driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&found->second, module_,
                                                                         name.c_str()),
            "a kernel lacks its function");
    }
    return found->second;
  }

  const c10::DeviceIndex device_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> functions_;
};

std::unique_ptr<engine::CudaKernels> load(int device, const std::string& image) {
  return std::make_unique<LoadedKernels>(device, image);
}

std::string architecture(int device) {
  const cudaDeviceProp& facts =
      *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device));
  return "sm_" + std::to_string(facts.major * 10 + facts.minor);
}

int multiprocessors(int device) {
  return at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))->multiProcessorCount;
}

int threads_per_multiprocessor(int device) {
  return at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))
      ->maxThreadsPerMultiProcessor;
}

engine::CudaDraw draw(int device, uint64_t increment) {
  const at::Generator& generator =
      at::cuda::detail::getDefaultCUDAGenerator(static_cast<c10::DeviceIndex>(device));
  auto* cuda = at::check_generator<at::CUDAGeneratorImpl>(generator);
  at::PhiloxCudaState state;
  {
    const std::lock_guard lock(cuda->mutex_);
    state = cuda->philox_cuda_state(increment);
  }
  if (!state.captured_) return {.seed = state.seed_.val, .offset = state.offset_.val};
  return {.offset = state.offset_intragraph_,
          .seed_at = state.seed_.ptr,
          .offset_at = state.offset_.ptr};
}

}  // namespace

engine::CudaKernelsApi cuda_kernels_api() {
  return {.load = &load,
          .architecture = &architecture,
          .multiprocessors = &multiprocessors,
          .threads_per_multiprocessor = &threads_per_multiprocessor,
          .draw = &draw};
}

}  // namespace rtrain::cuda
