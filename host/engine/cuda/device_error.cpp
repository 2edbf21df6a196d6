#include "host/engine/cuda/device_error.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <string>
#include <string_view>

#include "host/base/text/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/cuda/fault.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {
namespace {

// If librtrain_cuda.so is loaded, the first text means only that one operator has no CUDA kernel.
bool lacks_cuda(std::string_view text) {
  return (cuda_api() == nullptr &&
          text.find("from the 'CUDA' backend") != std::string_view::npos) ||
         text.find("not linked with support for cuda") != std::string_view::npos ||
         text.find("Found no NVIDIA driver") != std::string_view::npos;
}

std::string current_device() {
  try {
    return c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice().str();
  } catch (const c10::Error&) {
    return "";  // after an error of the device even this call may fail
  }
}

Error device_error(const c10::AcceleratorError& e) {
  const std::string_view text = e.what_without_backtrace();
  const int number = e.get_error_code();
  return Error(code_of_cuda_error(number), ends_use_of_device(number)
                                               ? lost_device_text(text, current_device())
                                               : short_error_text(text));
}

}  // namespace

std::optional<Error> translate_device_error(const std::exception& e) {
  if (const auto* device = dynamic_cast<const c10::AcceleratorError*>(&e)) {
    return device_error(*device);
  }
  const bool is_torchs = dynamic_cast<const c10::Error*>(&e) != nullptr;
  if (!is_torchs || !lacks_cuda(error_text(e))) return std::nullopt;
  return Error(Code::kEnvironment,
               cat("device 'cuda' is not available: ",
                   cuda_api() == nullptr ? cuda_refusal() : "the NVIDIA driver does not answer"));
}

}  // namespace rtrain::engine
