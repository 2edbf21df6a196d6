// host/engine/guard.h: the guard of C functions that call LibTorch: c10::Error becomes
// rtrain::Error.
#pragma once

#include "host/lua/class.h"

namespace rtrain {

// Out of memory keeps its code, an operator that the device lacks is kUnsupported, a device that is
// lost is kWorkerLost (cuda/fault.h), other checks of LibTorch are kArgument; the text comes
// without LibTorch's own backtrace.
struct TorchTranslate {
  static Error from(const std::exception& e);
};

template <auto Fn>
constexpr Method torch_method(const char* name) {
  return method<Fn, TorchTranslate>(name);
}

}  // namespace rtrain
