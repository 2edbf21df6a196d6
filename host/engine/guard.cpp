#include "host/engine/guard.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace rtrain {
namespace {

Code code_of(const c10::Error& e) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&e) != nullptr) return Code::kOutOfMemory;
  if (dynamic_cast<const c10::NotImplementedError*>(&e) != nullptr) return Code::kUnsupported;
  if (dynamic_cast<const c10::DistError*>(&e) != nullptr) return Code::kPeerLost;
  return std::string_view(e.what_without_backtrace()).find("INTERNAL ASSERT") == std::string_view::npos
             ? Code::kArgument
             : Code::kInternal;
}

}  // namespace

Error TorchTranslate::from(const std::exception& e) {
  if (const auto* own = dynamic_cast<const Error*>(&e)) return *own;
  if (const auto* torch = dynamic_cast<const c10::Error*>(&e)) {
    return Error(code_of(*torch), std::string(trim(torch->what_without_backtrace())));
  }
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) {
    return Error(Code::kOutOfMemory, "out of memory");
  }
  return Error(Code::kInternal, std::string(e.what()));
}

}  // namespace rtrain
