// Anomaly detection: when backward gives NaN or fails, the error names the line of the forward
// call.
#include <torch/csrc/autograd/anomaly_mode.h>

#include "host/engine/autograd/autograd.h"
#include "host/engine/autograd/lua_engine.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/lua/main_state.h"

namespace rtrain::engine {
namespace {

using torch::autograd::AnomalyMode;

class Detection {
 public:
  Detection(lua_State* L, bool enabled, bool check_nan)
      : enabled_(AnomalyMode::is_enabled()),
        check_nan_(AnomalyMode::should_check_nan()),
        state_(set_anomaly_state(L)) {
    AnomalyMode::set_enabled(enabled, check_nan);
  }
  ~Detection() {
    AnomalyMode::set_enabled(enabled_, check_nan_);
    set_anomaly_state(state_);
  }
  Detection(const Detection&) = delete;
  Detection& operator=(const Detection&) = delete;

 private:
  bool enabled_;
  bool check_nan_;
  lua_State* state_;
};

// detect_anomaly(check_nan, fn, …): calls the function and returns its results.
int detect_anomaly(lua_State* L) {
  check_callable(L, 2, "detect_anomaly: fn");
  const Detection detection(L, true, lua_toboolean(L, 1) != 0);
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

// set_detect_anomaly(enabled, check_nan)
int set_detect_anomaly(lua_State* L) {
  const bool enabled = check_boolean(L, 1, "set_detect_anomaly: enabled");
  AnomalyMode::set_enabled(enabled, lua_toboolean(L, 2) != 0);
  set_anomaly_state(enabled ? lua::main_state(L) : nullptr);
  return 0;
}

int is_anomaly_enabled(lua_State* L) {
  lua_pushboolean(L, AnomalyMode::is_enabled() ? 1 : 0);
  return 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&detect_anomaly>("detect_anomaly"),
    torch_method<&set_detect_anomaly>("set_detect_anomaly"),
    torch_method<&is_anomaly_enabled>("is_anomaly_enabled"),
};

}  // namespace

std::span<const lua::Method> anomaly_functions() { return kFunctions; }

}  // namespace rtrain::engine
