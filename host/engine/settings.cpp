// Process-wide settings of LibTorch: threads, default dtype, deterministic algorithms, and the
// features of this build.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>

#include "host/engine/operators/row_product.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/default_device.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

int get_num_threads(lua_State* L) {
  lua_pushnumber(L, at::get_num_threads());
  return 1;
}

int check_count(lua_State* L, const char* name) {
  const auto count = to_int(L, 1);
  if (count && *count >= 1) return static_cast<int>(*count);
  throw Error(Code::kArgument,
              cat(name, ": expected a positive integer, got ", describe_value(L, 1)));
}

int set_num_threads(lua_State* L) {
  at::set_num_threads(check_count(L, "set_num_threads"));
  return 0;
}

int get_default_dtype(lua_State* L) {
  lua_pushstring(L, dtype_name(c10::get_default_dtype_as_scalartype()).c_str());
  return 1;
}

int set_default_dtype(lua_State* L) {
  const at::ScalarType dtype = check_dtype(L, 1, "set_default_dtype: dtype");
  if (!c10::isFloatingType(dtype)) {
    throw Error(Code::kArgument,
                cat("set_default_dtype: only floating dtypes, got ", dtype_name(dtype)));
  }
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  return 0;
}

int cuda_is_available(lua_State* L) {
  lua_pushboolean(L, at::hasCUDA() ? 1 : 0);
  return 1;
}

// use_deterministic_algorithms(mode, {warn_only = …})
int use_deterministic_algorithms(lua_State* L) {
  const bool mode = check_boolean(L, 1, "use_deterministic_algorithms: mode");
  lua_settop(L, 2);
  const lua::Options options(L, 2, "use_deterministic_algorithms", {"warn_only"});
  at::globalContext().setDeterministicAlgorithms(mode, options.boolean("warn_only", false));
  return 0;
}

int are_deterministic_algorithms_enabled(lua_State* L) {
  lua_pushboolean(L, at::globalContext().deterministicAlgorithms() ? 1 : 0);
  return 1;
}

int is_deterministic_algorithms_warn_only_enabled(lua_State* L) {
  lua_pushboolean(L, at::globalContext().deterministicAlgorithmsWarnOnly() ? 1 : 0);
  return 1;
}

int get_num_interop_threads(lua_State* L) {
  lua_pushnumber(L, at::get_num_interop_threads());
  return 1;
}

int set_num_interop_threads(lua_State* L) {
  at::set_num_interop_threads(check_count(L, "set_num_interop_threads"));
  return 0;
}

// Returns whether the processor supports it.
int set_flush_denormal(lua_State* L) {
  const bool mode = check_boolean(L, 1, "set_flush_denormal");
  lua_pushboolean(L, at::globalContext().setFlushDenormal(mode) ? 1 : 0);
  return 1;
}

constexpr std::pair<const char*, at::Float32MatmulPrecision> kPrecisions[] = {
    {"highest", at::Float32MatmulPrecision::HIGHEST},
    {"high", at::Float32MatmulPrecision::HIGH},
    {"medium", at::Float32MatmulPrecision::MEDIUM}};

int get_float32_matmul_precision(lua_State* L) {
  const auto precision = at::globalContext().float32MatmulPrecision();
  for (const auto& [name, value] : kPrecisions) {
    if (value == precision) lua_pushstring(L, name);
  }
  return 1;
}

int set_float32_matmul_precision(lua_State* L) {
  const std::string name(check_text(L, 1, "set_float32_matmul_precision"));
  for (const auto& precision : kPrecisions) {
    if (name != precision.first) continue;
    at::globalContext().setFloat32MatmulPrecision(name);
    return 0;
  }
  throw Error(Code::kArgument, cat("set_float32_matmul_precision: expected 'highest', 'high' or "
                                   "'medium', got '",
                                   name, "'"));
}

int is_inference_mode_enabled(lua_State* L) {
  lua_pushboolean(L, c10::InferenceMode::is_enabled() ? 1 : 0);
  return 1;
}

int is_warn_always_enabled(lua_State* L) {
  lua_pushboolean(L, c10::WarningUtils::get_warnAlways() ? 1 : 0);
  return 1;
}

int set_warn_always(lua_State* L) {
  c10::WarningUtils::set_warnAlways(check_boolean(L, 1, "set_warn_always"));
  return 0;
}

// Returns what was set before.
int set_row_products_here(lua_State* L) {
  lua_pushboolean(L, set_row_products(check_boolean(L, 1, "set_row_products")) ? 1 : 0);
  return 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&set_row_products_here>("set_row_products"),
    torch_method<&get_num_threads>("get_num_threads"),
    torch_method<&set_num_threads>("set_num_threads"),
    torch_method<&get_default_dtype>("get_default_dtype"),
    torch_method<&set_default_dtype>("set_default_dtype"),
    torch_method<&cuda_is_available>("cuda_is_available"),
    torch_method<&use_deterministic_algorithms>("use_deterministic_algorithms"),
    torch_method<&are_deterministic_algorithms_enabled>("are_deterministic_algorithms_enabled"),
    torch_method<&is_deterministic_algorithms_warn_only_enabled>(
        "is_deterministic_algorithms_warn_only_enabled"),
    torch_method<&get_num_interop_threads>("get_num_interop_threads"),
    torch_method<&set_num_interop_threads>("set_num_interop_threads"),
    torch_method<&set_flush_denormal>("set_flush_denormal"),
    torch_method<&get_float32_matmul_precision>("get_float32_matmul_precision"),
    torch_method<&set_float32_matmul_precision>("set_float32_matmul_precision"),
    torch_method<&is_inference_mode_enabled>("is_inference_mode_enabled"),
    torch_method<&is_warn_always_enabled>("is_warn_always_enabled"),
    torch_method<&set_warn_always>("set_warn_always"),
};

}  // namespace

void open_settings(lua_State* L) {
  lua::add_functions(L, kFunctions);
  lua::add_functions(L, default_device_functions());
  lua_pushliteral(L, TORCH_VERSION);
  lua_setfield(L, -2, "__version__");
}

}  // namespace rtrain::engine
