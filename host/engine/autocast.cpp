// Autocast: operators choose a lower precision by themselves. LibTorch keeps the state, one for
// each thread; modules/torch/amp.lua checks the arguments and documents them.
#include <ATen/autocast_mode.h>

#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

namespace ac = at::autocast;

at::DeviceType device_type(lua_State* L, int index) {
  return check_device(L, index, "autocast: device_type").type();
}

// Changes the state for one autocast() call and restores it at the end, also when a Lua error
// unwinds.
class AutocastGuard {
 public:
  struct Mode {
    at::DeviceType device;
    at::ScalarType dtype;
    bool enabled;
    bool cache_enabled;
  };

  explicit AutocastGuard(const Mode& mode)
      : before_{mode.device, ac::get_autocast_dtype(mode.device),
                ac::is_autocast_enabled(mode.device), ac::is_autocast_cache_enabled()} {
    apply(mode);
    ac::increment_nesting();
  }
  ~AutocastGuard() {
    // The cache holds casts of parameters. The optimizer changes those after the outermost autocast
    // ends.
    if (ac::decrement_nesting() == 0) ac::clear_cache();
    apply(before_);
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  static void apply(const Mode& mode) {
    ac::set_autocast_enabled(mode.device, mode.enabled);
    ac::set_autocast_dtype(mode.device, mode.dtype);
    ac::set_autocast_cache_enabled(mode.cache_enabled);
  }

  Mode before_;
};

// autocast(device, dtype, enabled, cache_enabled, fn, …) → the results of fn(…).
int autocast(lua_State* L) {
  constexpr int kFunction = 5;
  const AutocastGuard::Mode mode{device_type(L, 1), check_dtype(L, 2, "autocast: dtype"),
                                 lua_toboolean(L, 3) != 0, lua_toboolean(L, 4) != 0};
  check_callable(L, kFunction, "autocast: fn");
  const AutocastGuard guard(mode);
  lua_call(L, lua_gettop(L) - kFunction, LUA_MULTRET);
  return lua_gettop(L) - kFunction + 1;
}

int is_autocast_available(lua_State* L) {
  lua_pushboolean(L, ac::is_autocast_available(device_type(L, 1)) ? 1 : 0);
  return 1;
}

int is_autocast_enabled(lua_State* L) {
  // Without an argument the device is CUDA, as in Python.
  const at::DeviceType device = lua_isnoneornil(L, 1) ? at::kCUDA : device_type(L, 1);
  lua_pushboolean(L, ac::is_autocast_enabled(device) ? 1 : 0);
  return 1;
}

int set_autocast_enabled(lua_State* L) {
  const bool enabled = check_boolean(L, 2, "set_autocast_enabled: enabled");
  ac::set_autocast_enabled(device_type(L, 1), enabled);
  return 0;
}

int get_autocast_dtype(lua_State* L) {
  lua_pushstring(L, dtype_name(ac::get_autocast_dtype(device_type(L, 1))).c_str());
  return 1;
}

int set_autocast_dtype(lua_State* L) {
  ac::set_autocast_dtype(device_type(L, 1), check_dtype(L, 2, "autocast: dtype"));
  return 0;
}

int is_autocast_cache_enabled(lua_State* L) {
  lua_pushboolean(L, ac::is_autocast_cache_enabled() ? 1 : 0);
  return 1;
}

int set_autocast_cache_enabled(lua_State* L) {
  ac::set_autocast_cache_enabled(check_boolean(L, 1, "set_autocast_cache_enabled: enabled"));
  return 0;
}

int clear_autocast_cache(lua_State*) {
  ac::clear_cache();
  return 0;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&autocast>("_autocast"),
    torch_method<&is_autocast_available>("is_autocast_available"),
    torch_method<&is_autocast_enabled>("is_autocast_enabled"),
    torch_method<&set_autocast_enabled>("set_autocast_enabled"),
    torch_method<&get_autocast_dtype>("get_autocast_dtype"),
    torch_method<&set_autocast_dtype>("set_autocast_dtype"),
    torch_method<&is_autocast_cache_enabled>("is_autocast_cache_enabled"),
    torch_method<&set_autocast_cache_enabled>("set_autocast_cache_enabled"),
    torch_method<&clear_autocast_cache>("clear_autocast_cache"),
};

}  // namespace

void open_autocast(lua_State* L) { lua::add_functions(L, kFunctions); }

}  // namespace rtrain::engine
