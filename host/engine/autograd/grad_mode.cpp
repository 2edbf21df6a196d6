// no_grad, enable_grad and inference_mode: guards around a function call.
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include "host/engine/autograd/autograd.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {
namespace {

// Calls the function at index 1 with the arguments after it and returns its results.
int call_through(lua_State* L, const char* what) {
  check_callable(L, 1, what);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

// The guards are C++ objects, so a Lua error that unwinds restores the mode.
int no_grad(lua_State* L) {
  const at::NoGradGuard guard;
  return call_through(L, "no_grad: fn");
}

int enable_grad(lua_State* L) {
  const at::AutoGradMode guard(true);
  return call_through(L, "enable_grad: fn");
}

int inference_mode(lua_State* L) {
  const c10::InferenceMode guard;
  return call_through(L, "inference_mode: fn");
}

int set_grad_enabled(lua_State* L) {
  const bool enabled = check_boolean(L, 1, "set_grad_enabled: mode");
  lua_pushboolean(L, at::GradMode::is_enabled() ? 1 : 0);
  at::GradMode::set_enabled(enabled);
  return 1;
}

int is_grad_enabled(lua_State* L) {
  lua_pushboolean(L, at::GradMode::is_enabled() ? 1 : 0);
  return 1;
}

int is_inference_mode_enabled(lua_State* L) {
  lua_pushboolean(L, c10::InferenceMode::is_enabled() ? 1 : 0);
  return 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&no_grad>("no_grad"),
    torch_method<&enable_grad>("enable_grad"),
    torch_method<&inference_mode>("inference_mode"),
    torch_method<&set_grad_enabled>("set_grad_enabled"),
    torch_method<&is_grad_enabled>("is_grad_enabled"),
    torch_method<&is_inference_mode_enabled>("is_inference_mode_enabled"),
};

}  // namespace

std::span<const lua::Method> grad_mode_functions() { return kFunctions; }

}  // namespace rtrain::engine
