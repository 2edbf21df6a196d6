#include "host/engine/torch_cuda/allocator_settings.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

void check_variable(const char* name, const char* value) {
  try {
    c10::CachingAllocator::setAllocatorSettings(value);
  } catch (const c10::Error& e) {
    throw Error(Code::kConfig, cat(name, "=", value, ": ", e.what_without_backtrace()));
  }
}

}  // namespace

void check_allocator_settings() {
  static std::once_flag once;
  std::call_once(once, [] {
    // LibTorch uses the first of these that is set.
    for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) return check_variable(name, value);
    }
  });
}

}  // namespace rtrain::engine
