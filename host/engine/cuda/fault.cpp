#include "host/engine/cuda/fault.h"

#include <algorithm>
#include <array>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

constexpr int kMemoryAllocation = 2;

// The device is busy, in exclusive use or absent, or its driver does not fit.
constexpr std::array kUnusable = {3, 35, 46, 100, 101, 802, 803, 804};

// Memory or a link of the device is broken (214, 220, 226), a kernel has failed (700 to 719), or
// the driver reports an unknown error (999), for example when a device has fallen off the bus.
constexpr std::array kLost = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};

// "cudaErrorIllegalAddress", from LibTorch's advice to look it up; "" if the text has none.
std::string_view name_of(std::string_view text) {
  const size_t mark = text.find("Search for `");
  if (mark == std::string_view::npos) return {};
  text.remove_prefix(mark + std::string_view("Search for `").size());
  return text.substr(0, text.find('\''));
}

}  // namespace

bool ends_use_of_device(int cuda_error) {
  return std::ranges::find(kLost, cuda_error) != kLost.end();
}

Code code_of_cuda_error(int cuda_error) {
  if (cuda_error == kMemoryAllocation) return Code::kOutOfMemory;
  if (ends_use_of_device(cuda_error)) return Code::kWorkerLost;
  const bool is_unusable = std::ranges::find(kUnusable, cuda_error) != kUnusable.end();
  return is_unusable ? Code::kEnvironment : Code::kArgument;
}

std::string lost_device_text(std::string_view torch_text, std::string_view device) {
  const std::string_view name = name_of(torch_text);
  const std::string_view what = trim(torch_text.substr(0, torch_text.find('\n')));
  return cat(what, name.empty() ? "" : cat(" (", name, ")"),
             device.empty() ? "" : cat(" on ", device),
             ". This process cannot use the device any more and has to end; a new one may go on. "
             "Kernels run behind the program: the operation at fault may be an earlier one, which "
             "the environment variable CUDA_LAUNCH_BLOCKING=1 finds");
}

}  // namespace rtrain::engine
