#include "host/machine/libraries/cuda_driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "host/base/text/text.h"
#include "host/machine/libraries/library_call.h"

namespace rtrain::machine {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;

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
  call_library(library, "cuGetErrorString", code, &text);
  return cat("the NVIDIA driver does not answer: ", text == nullptr ? "error" : text, " (", code,
             ")");
}

CudaDevice describe(void* library, int number) {
  int device = 0;
  CudaUuid uuid{};
  std::array<char, 128> name{};
  size_t memory = 0;
  call_library(library, "cuDeviceGet", &device, number);
  call_library(library, "cuDeviceGetUuid_v2", uuid.data(), device);
  call_library(library, "cuDeviceGetName", name.data(), static_cast<int>(name.size() - 1), device);
  call_library(library, "cuDeviceTotalMem_v2", &memory, device);
  return {cuda_uuid_text(uuid, name.data()), name.data(), static_cast<int64_t>(memory)};
}

// The driver's library stays loaded, since LibTorch looks for the loaded one.
CudaDriver ask() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {{}, missing_library()};
  int code = call_library(library, "cuInit", 0U);
  int devices = 0;
  if (code == kSuccess) code = call_library(library, "cuDeviceGetCount", &devices);
  if (code == kNoDevice || (code == kSuccess && devices == 0)) return {{}, no_device()};
  if (code != kSuccess) return {{}, refusal(library, code)};
  CudaDriver out;
  for (int number = 0; number < devices; ++number) {
    out.devices.push_back(describe(library, number));
  }
  return out;
}

}  // namespace

std::string cuda_uuid_text(const CudaUuid& bytes, std::string_view device_name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = device_name.find(" MIG ") == std::string_view::npos ? "GPU-" : "MIG-";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

bool has_cuda_driver() {
  // The library stays loaded; ask() says why.
  return dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL) != nullptr;
}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = ask();
  return driver;
}

}  // namespace rtrain::machine
