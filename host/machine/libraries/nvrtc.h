// host/machine/libraries/nvrtc.h: NVRTC, NVIDIA's compiler of CUDA C++ at run time, which comes
// with LibTorch's CUDA library. Needs neither a driver nor a device.
//
// Any thread.
#pragma once

#include <string>
#include <vector>

namespace rtrain::machine {

class Nvrtc {
 public:
  // Loads libnvrtc.so from $RTRAIN_NVRTC, which is a file, or from where packages of NVIDIA have it
  // relative to the folder of libtorch_cpu.so, or from where the dynamic loader finds it.
  explicit Nvrtc(const std::string& libtorch_lib);

  // Why nothing can be compiled; "" if it can.
  const std::string& refusal() const { return refusal_; }
  const std::string& version() const { return version_; }  // "13.0"

  // Compiles for an architecture: "sm_90" gives code of that device, "compute_90" gives PTX. Throws
  // Error(kEnvironment) with the compiler's messages.
  std::string compile(const std::string& text, const std::string& architecture) const;

  // The options besides the architecture, for a key of what was compiled.
  static const std::vector<std::string>& options();

 private:
  template <class... Args>
  int call(const char* name, Args... args) const;
  template <class... Args>
  void need(const char* name, Args... args) const;

  void* library_ = nullptr;  // stays loaded
  std::string refusal_;
  std::string version_;
};

// The paths where an Nvrtc is looked for, in order; a name without "/" is the loader's. Pure.
std::vector<std::string> nvrtc_paths(const std::string& libtorch_lib);

}  // namespace rtrain::machine
