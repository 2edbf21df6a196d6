// host/engine/recording/kernel_compiler.h: compiles kernels on a thread of its own, while steps run
// without them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "host/compile/kernel_text.h"

namespace rtrain::engine {

// A kernel for a device that is compiled once in the process. Its state changes once.
struct CompiledKernel {
  enum class State { kWaiting, kReady, kRefused };
  std::atomic<State> state = State::kWaiting;
  // What the thread has made, once the state is no longer kWaiting.
  std::string image;    // kReady: for the driver
  std::string refusal;  // kRefused
};

// Takes an image from the cache of the user, or compiles it with NVRTC. Returns at once. The same
// kernel is compiled once.
std::shared_ptr<CompiledKernel> compile_kernel(const compile::Kernel& kernel,
                                               const std::string& architecture);

}  // namespace rtrain::engine
