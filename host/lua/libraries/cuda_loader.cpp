#include "host/lua/libraries/cuda_loader.h"

#include <dlfcn.h>

#include <filesystem>

#include "host/base/error.h"
#include "host/lua/libraries/embedded_library.h"
#include "host/lua/libraries/engine_image.h"
#include "host/machine/libraries/nccl_settings.h"

namespace rtrain::lua {
namespace {

std::string& failure() {
  static std::string text;
  return text;
}

machine::CudaSupport look() {
  machine::CudaFacts facts{.driver = machine::cuda_driver(), .libtorch = std::nullopt};
  if (!facts.driver.devices.empty()) facts.libtorch = machine::find_libtorch().found;
  std::error_code ignored;
  facts.has_library =
      facts.libtorch && std::filesystem::exists(facts.libtorch->lib + "/libtorch_cuda.so", ignored);
  const EngineImage* engine = facts.libtorch ? find_engine(facts.libtorch->minor) : nullptr;
  facts.is_built = engine != nullptr && engine->cuda.begin != engine->cuda.end;
  return machine::judge_cuda(facts);
}

}  // namespace

const machine::CudaSupport& cuda_support() {
  static const machine::CudaSupport support = look();
  return support;
}

bool load_libtorch_cuda() {
  if (cuda_support().devices == 0) return false;
  machine::apply_nccl_settings();
  try {
    open_library(cuda_support().library, RTLD_NOW | RTLD_GLOBAL);
  } catch (const Error& e) {
    failure() = e.message();
    return false;
  }
  return true;
}

machine::CudaSupport usable_cuda() {
  return failure().empty() ? cuda_support() : machine::CudaSupport{0, failure(), ""};
}

const void* load_cuda_api() {
  const ImageBytes image = engine_in_use()->cuda;
  static EmbeddedLibrary library({"rtrain-cuda", image.begin, image.end, "RTRAIN_CUDA_MODULE"});
  return reinterpret_cast<const void* (*)()>(library.load("rtrain_cuda_api"))();
}

}  // namespace rtrain::lua
