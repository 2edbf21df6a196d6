// torch._C.backends: LibTorch's switches of cuBLAS, cuDNN and scaled_dot_product_attention. They
// also exist without a GPU, because scripts set them before they ask for a GPU.
#include <ATen/Context.h>

#include "host/base/error.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/class.h"

namespace rtrain::engine {
namespace {

using at::CuBLASReductionOption;

struct Switch {
  const char* name;
  bool (*get)(const at::Context&);
  void (*set)(at::Context&, bool);
};

bool is_reduced(CuBLASReductionOption option) {
  return option == CuBLASReductionOption::AllowReducedPrecisionWithSplitK;
}

// Names as in torch.backends, with dots.
constexpr Switch kSwitches[] = {
    {"cudnn.enabled", [](const at::Context& c) { return c.userEnabledCuDNN(); },
     [](at::Context& c, bool on) { c.setUserEnabledCuDNN(on); }},
    {"cudnn.benchmark", [](const at::Context& c) { return c.benchmarkCuDNN(); },
     [](at::Context& c, bool on) { c.setBenchmarkCuDNN(on); }},
    {"cudnn.deterministic", [](const at::Context& c) { return c.deterministicCuDNN(); },
     [](at::Context& c, bool on) { c.setDeterministicCuDNN(on); }},
    {"cudnn.allow_tf32", [](const at::Context& c) { return c.allowTF32CuDNN(); },
     [](at::Context& c, bool on) { c.setAllowTF32CuDNN(on); }},
    {"cuda.matmul.allow_tf32", [](const at::Context& c) { return c.allowTF32CuBLAS(); },
     [](at::Context& c, bool on) { c.setAllowTF32CuBLAS(on); }},
    {"cuda.matmul.allow_fp16_reduced_precision_reduction",
     [](const at::Context& c) { return is_reduced(c.allowFP16ReductionCuBLAS()); },
     [](at::Context& c, bool on) { c.setAllowFP16ReductionCuBLAS(on); }},
    {"cuda.matmul.allow_bf16_reduced_precision_reduction",
     [](const at::Context& c) { return is_reduced(c.allowBF16ReductionCuBLAS()); },
     [](at::Context& c, bool on) { c.setAllowBF16ReductionCuBLAS(on); }},
    {"cuda.matmul.allow_fp16_accumulation",
     [](const at::Context& c) { return c.allowFP16AccumulationCuBLAS(); },
     [](at::Context& c, bool on) { c.setAllowFP16AccumulationCuBLAS(on); }},
    {"cuda.flash_sdp", [](const at::Context& c) { return c.userEnabledFlashSDP(); },
     [](at::Context& c, bool on) { c.setSDPUseFlash(on); }},
    {"cuda.mem_efficient_sdp", [](const at::Context& c) { return c.userEnabledMemEfficientSDP(); },
     [](at::Context& c, bool on) { c.setSDPUseMemEfficient(on); }},
    {"cuda.math_sdp", [](const at::Context& c) { return c.userEnabledMathSDP(); },
     [](at::Context& c, bool on) { c.setSDPUseMath(on); }},
    {"cuda.cudnn_sdp", [](const at::Context& c) { return c.userEnabledCuDNNSDP(); },
     [](at::Context& c, bool on) { c.setSDPUseCuDNN(on); }},
    {"cuda.fp16_bf16_reduction_math_sdp",
     [](const at::Context& c) { return c.allowFP16BF16ReductionMathSDP(); },
     [](at::Context& c, bool on) { c.setAllowFP16BF16ReductionMathSDP(on); }},
};

const Switch& check_switch(lua_State* L) {
  const std::string_view name = check_text(L, 1, "backends: name");
  for (const Switch& known : kSwitches) {
    if (name == known.name) return known;
  }
  throw Error(Code::kInternal, cat("there is no switch '", name, "'"));
}

int get(lua_State* L) {
  lua_pushboolean(L, check_switch(L).get(at::globalContext()) ? 1 : 0);
  return 1;
}

int set(lua_State* L) {
  const Switch& which = check_switch(L);
  which.set(at::globalContext(), check_boolean(L, 2, cat("torch.backends.", which.name)));
  return 0;
}

int benchmark_limit(lua_State* L) {
  lua_pushinteger(L, at::globalContext().benchmarkLimitCuDNN());
  return 1;
}

int set_benchmark_limit(lua_State* L) {
  const auto limit = to_int(L, 1);
  if (!limit || *limit < 0) {
    throw Error(Code::kArgument,
                cat("torch.backends.cudnn.benchmark_limit: expected an integer from 0 on, got ",
                    describe_value(L, 1)));
  }
  at::globalContext().setBenchmarkLimitCuDNN(static_cast<int>(*limit));
  return 0;
}

// cuDNN's version as a number, for example 91900; nil without cuDNN.
int cudnn_version(lua_State* L) {
  if (!at::Context::hasCuDNN()) return 0;
  lua_pushinteger(L, static_cast<lua_Integer>(at::Context::versionCuDNN()));
  return 1;
}

}  // namespace

void open_backends(lua_State* L) {
  static constexpr lua::Method kFunctions[] = {
      torch_method<&get>("get"), torch_method<&set>("set"),
      torch_method<&benchmark_limit>("benchmark_limit"),
      torch_method<&set_benchmark_limit>("set_benchmark_limit"),
      torch_method<&cudnn_version>("cudnn_version")};
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "backends");
}

}  // namespace rtrain::engine
