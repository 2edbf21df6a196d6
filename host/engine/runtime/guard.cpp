#include "host/engine/runtime/guard.h"

#include <c10/util/Exception.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

Code code_of(const c10::Error& e) {
  if (dynamic_cast<const c10::NotImplementedError*>(&e) != nullptr) return Code::kUnsupported;
  return std::string_view(e.what_without_backtrace()).find("INTERNAL ASSERT") ==
                 std::string_view::npos
             ? Code::kArgument
             : Code::kInternal;
}

// Removes "INTERNAL ASSERT FAILED at "file":12, please report a bug to PyTorch." from the text for
// users.
std::string assertion_text(std::string_view text, size_t mark) {
  constexpr std::string_view kEnd = "report a bug to PyTorch.";
  const size_t end = text.find(kEnd, mark);
  const std::string_view detail =
      end == std::string_view::npos ? std::string_view() : trim(text.substr(end + kEnd.size()));
  return cat("a check inside LibTorch failed: ",
             detail.empty() ? trim(text.substr(0, mark)) : detail);
}

std::vector<ErrorTranslator>& translators() {
  static std::vector<ErrorTranslator> all;
  return all;
}

}  // namespace

void add_error_translator(ErrorTranslator translator) { translators().push_back(translator); }

std::string_view error_text(const std::exception& e) {
  const auto* torch = dynamic_cast<const c10::Error*>(&e);
  return torch == nullptr ? e.what() : torch->what_without_backtrace();
}

// LibTorch adds pages about its build to "Could not run 'aten::x' with arguments from the 'Y'
// backend."
std::string short_error_text(std::string_view text) {
  text = text.substr(0, text.find("  (Could this error message be improved?"));
  text = text.substr(0, text.find("\nException raised from "));  // of a nested error
  const size_t mark = text.find("INTERNAL ASSERT FAILED");
  if (mark != std::string_view::npos) return assertion_text(text, mark);
  text = text.substr(0, text.find("\nSearch for `cuda"));  // advice to search CUDA's web pages
  const size_t end =
      text.find(" This could be because the operator doesn't exist for this backend");
  return std::string(trim(text.substr(0, end)));
}

Error TorchTranslate::from(const std::exception& e) {
  if (const auto* own = dynamic_cast<const Error*>(&e)) return *own;
  for (const ErrorTranslator translate : translators()) {
    if (std::optional<Error> error = translate(e)) return *error;
  }
  if (const auto* torch = dynamic_cast<const c10::Error*>(&e)) {
    return Error(code_of(*torch), short_error_text(error_text(e)));
  }
  if (dynamic_cast<const std::length_error*>(&e) != nullptr) {
    return Error(Code::kArgument, "a number of items is out of range");
  }
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) {
    return Error(Code::kOutOfMemory, "out of memory");
  }
  // A number that its dtype cannot hold: c10::checked_convert does not throw a c10::Error.
  const std::string_view text = e.what();
  const bool overflow = text.find("without overflow") != std::string_view::npos;
  return Error(overflow ? Code::kArgument : Code::kInternal, std::string(text));
}

}  // namespace rtrain::engine
