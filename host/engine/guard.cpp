#include "host/engine/guard.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "host/engine/cuda/cuda.h"
#include "host/engine/cuda/fault.h"
#include "host/engine/distributed/peer_error.h"
#include "host/engine/memory/out_of_memory.h"

namespace rtrain {
namespace {

// NCCL fails for reasons of its own too (no shared memory, a lost device), which are this rank's.
Code code_of_group(const c10::Error& e) {
  const std::string_view text = e.what_without_backtrace();
  const bool is_nccls = text.find("NCCL error") != std::string_view::npos;
  const bool is_remote = text.find("emote process") != std::string_view::npos;
  return is_nccls && !is_remote ? Code::kUser : Code::kPeerLost;
}

Code code_of(const c10::Error& e) {
  if (dynamic_cast<const c10::NotImplementedError*>(&e) != nullptr) return Code::kUnsupported;
  if (dynamic_cast<const c10::DistError*>(&e) != nullptr) return code_of_group(e);
  return std::string_view(e.what_without_backtrace()).find("INTERNAL ASSERT") ==
                 std::string_view::npos
             ? Code::kArgument
             : Code::kInternal;
}

std::string_view text_of(const std::exception& e) {
  const auto* torch = dynamic_cast<const c10::Error*>(&e);
  return torch == nullptr ? e.what() : torch->what_without_backtrace();
}

// "x INTERNAL ASSERT FAILED at "file":12, please report a bug to PyTorch. More." is no text for
// users.
std::string assertion_text(std::string_view text, size_t mark) {
  constexpr std::string_view kEnd = "report a bug to PyTorch.";
  const size_t end = text.find(kEnd, mark);
  const std::string_view detail =
      end == std::string_view::npos ? std::string_view() : trim(text.substr(end + kEnd.size()));
  return cat("a check inside LibTorch failed: ",
             detail.empty() ? trim(text.substr(0, mark)) : detail);
}

// "Could not run 'aten::x' with arguments from the 'Y' backend." is followed by pages about
// LibTorch's build.
std::string short_text(std::string_view text) {
  text = text.substr(0, text.find("  (Could this error message be improved?"));
  text = text.substr(0, text.find("\nException raised from "));  // of an error inside this one
  const size_t mark = text.find("INTERNAL ASSERT FAILED");
  if (mark != std::string_view::npos) return assertion_text(text, mark);
  text = text.substr(0, text.find("\nSearch for `cuda"));  // advice about CUDA's web pages
  const size_t end =
      text.find(" This could be because the operator doesn't exist for this backend");
  return std::string(trim(text.substr(0, end)));
}

bool lacks_cuda(std::string_view text) {
  return text.find("from the 'CUDA' backend") != std::string_view::npos ||
         text.find("not linked with support for cuda") != std::string_view::npos ||
         text.find("Found no NVIDIA driver") != std::string_view::npos;
}

std::string current_device() {
  try {
    return c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice().str();
  } catch (const c10::Error&) {
    return "";  // a lost device does not even say its number
  }
}

Error device_error(const c10::AcceleratorError& e) {
  const std::string_view text = e.what_without_backtrace();
  const int number = e.get_error_code();
  return Error(code_of_cuda_error(number), ends_use_of_device(number)
                                               ? lost_device_text(text, current_device())
                                               : short_text(text));
}

Error torch_error(const c10::Error& e) {
  if (const auto* device = dynamic_cast<const c10::AcceleratorError*>(&e)) {
    return device_error(*device);
  }
  const std::string_view text = e.what_without_backtrace();
  if (lacks_cuda(text)) {
    return Error(Code::kEnvironment,
                 cat("device 'cuda' is not available: ",
                     cuda_api() == nullptr ? cuda_refusal() : "the NVIDIA driver does not answer"));
  }
  return Error(code_of(e), short_text(text));
}

// What a collective inside LibTorch (backward under DistributedDataParallel) says when a rank is
// lost.
std::optional<Error> lost_peer(std::string_view text) {
  const std::optional<Error> cause = peer_error(text);
  if (!cause) return std::nullopt;
  const bool late = cause->code() == Code::kTimeout;
  return Error(cause->code(),
               cat("exchanging gradients failed because another rank ",
                   late ? "did not come in time" : "is gone", " (", cause->message(), ")",
                   late ? "; a longer wait is set with torch_config = {timeout_s = …}" : ""));
}

}  // namespace

Error TorchTranslate::from(const std::exception& e) {
  if (const auto* own = dynamic_cast<const Error*>(&e)) return *own;
  if (const auto lost = lost_peer(text_of(e))) return *lost;
  if (const auto* full = dynamic_cast<const c10::OutOfMemoryError*>(&e)) {
    return out_of_memory_error(OutOfMemory(*full));
  }
  if (const auto* torch = dynamic_cast<const c10::Error*>(&e)) return torch_error(*torch);
  if (dynamic_cast<const std::length_error*>(&e) != nullptr) {
    return Error(Code::kArgument, "a number of items is out of range");
  }
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) {
    return Error(Code::kOutOfMemory, "out of memory");
  }
  // A number that its dtype cannot hold: c10::checked_convert throws no c10::Error.
  const std::string_view text = e.what();
  const bool overflow = text.find("without overflow") != std::string_view::npos;
  return Error(overflow ? Code::kArgument : Code::kInternal, std::string(text));
}

}  // namespace rtrain
