#include "host/machine/libraries/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/machine/libraries/library_call.h"

namespace rtrain::machine {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

}  // namespace

std::vector<std::string> nvrtc_paths(const std::string& libtorch_lib) {
  std::vector<std::string> out;
  // Next to LibTorch; in the packages of CUDA 13 and of CUDA 12, next to the package torch.
  for (const char* below : {"", "/../../nvidia/cu13/lib", "/../../nvidia/cuda_nvrtc/lib"}) {
    for (const char* name : kNames) out.push_back(cat(libtorch_lib, below, "/", name));
  }
  for (const char* name : kNames) out.push_back(cat("/usr/local/cuda/lib64/", name));
  for (const char* name : kNames) out.emplace_back(name);
  return out;
}

Nvrtc::Nvrtc(const std::string& libtorch_lib) {
  const char* given = std::getenv("RTRAIN_NVRTC");
  const std::vector<std::string> paths =
      given != nullptr ? std::vector<std::string>{given} : nvrtc_paths(libtorch_lib);
  for (const std::string& path : paths) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) break;
  }
  int major = 0;
  int minor = 0;
  if (library_ == nullptr) {
    refusal_ = given != nullptr ? cat("RTRAIN_NVRTC: ", dlerror())
                                : cat("there is no NVRTC: ", kNames[0],
                                      " of the package "
                                      "nvidia-cuda-nvrtc is neither close to LibTorch nor in "
                                      "/usr/local/cuda (or set RTRAIN_NVRTC to it)");
  } else if (call("nvrtcVersion", &major, &minor) != 0) {
    refusal_ = "NVRTC does not say its version";
  }
  version_ = cat(major, ".", minor);
}

const std::vector<std::string>& Nvrtc::options() {
  static const std::vector<std::string> kOptions = {"--std=c++17"};
  return kOptions;
}

template <class... Args>
int Nvrtc::call(const char* name, Args... args) const {
  return call_library(library_, name, args...);
}

template <class... Args>
void Nvrtc::need(const char* name, Args... args) const {
  const int code = call(name, args...);
  if (code != 0) throw Error(Code::kEnvironment, cat("NVRTC: ", name, " fails (", code, ")"));
}

std::string Nvrtc::compile(const std::string& text, const std::string& architecture) const {
  if (!refusal_.empty()) throw Error(Code::kEnvironment, refusal_);
  const bool is_ptx = architecture.starts_with("compute_");
  std::vector<std::string> all = options();
  all.push_back(cat("--gpu-architecture=", architecture));
  std::vector<const char*> options;
  for (const std::string& option : all) options.push_back(option.c_str());
  void* program = nullptr;
  need("nvrtcCreateProgram", &program, text.c_str(), "rtrain.cu", 0,
       static_cast<const char* const*>(nullptr), static_cast<const char* const*>(nullptr));
  const int code = call("nvrtcCompileProgram", program, static_cast<int>(options.size()),
                        static_cast<const char* const*>(options.data()));
  const auto content = [&](const char* size_name, const char* name) {
    size_t size = 0;
    need(size_name, program, &size);
    std::string out(size, '\0');
    need(name, program, out.data());
    return out;
  };
  std::string out = code != 0 ? content("nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
                    : is_ptx  ? content("nvrtcGetPTXSize", "nvrtcGetPTX")
                              : content("nvrtcGetCUBINSize", "nvrtcGetCUBIN");
  call("nvrtcDestroyProgram", &program);
  if (code != 0) throw Error(Code::kEnvironment, cat("NVRTC refuses a kernel: ", out.c_str()));
  return out;
}

}  // namespace rtrain::machine
