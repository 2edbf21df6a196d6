#include "host/base/cuda_driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kNoFunction = -1;

template <class... Args>
int call(void* library, const char* name, Args... args) {
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function == nullptr ? kNoFunction : function(args...);
}

std::string missing_library() {
  const std::string_view why = dlerror();
  if (why.find("No such file") != std::string_view::npos) {
    return cat("no NVIDIA driver: ", kLibrary, " is not there");
  }
  return cat("no NVIDIA driver: ", why);
}

std::string no_device() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return cat("the NVIDIA driver shows no device",
             visible == nullptr ? "" : cat(" (CUDA_VISIBLE_DEVICES='", visible, "')"));
}

std::string refusal(void* library, int code) {
  const char* text = nullptr;
  call(library, "cuGetErrorString", code, &text);
  return cat("the NVIDIA driver does not answer: ", text == nullptr ? "error" : text, " (", code,
             ")");
}

// The library stays: LibTorch looks for the one that is loaded.
CudaDriver ask() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {0, missing_library()};
  int code = call(library, "cuInit", 0U);
  int devices = 0;
  if (code == kSuccess) code = call(library, "cuDeviceGetCount", &devices);
  if (code == kNoDevice || (code == kSuccess && devices == 0)) return {0, no_device()};
  if (code != kSuccess) return {0, refusal(library, code)};
  return {devices, ""};
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = ask();
  return driver;
}

}  // namespace rtrain
