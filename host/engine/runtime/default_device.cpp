#include "host/engine/runtime/default_device.h"

#include <utility>

#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {
namespace {

thread_local std::optional<c10::Device> device_of_thread;

// Restores the device when the function ends, also after an error.
class DeviceScope {
 public:
  explicit DeviceScope(c10::Device device) : before_(std::exchange(device_of_thread, device)) {}
  ~DeviceScope() { device_of_thread = before_; }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::optional<c10::Device> before_;
};

// with_device(device, fn, ...) → the results of fn(...).
int with_device(lua_State* L) {
  check_callable(L, 2, "device: fn");
  const DeviceScope scope(check_device(L, 1, "device"));
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

int set_default_device(lua_State* L) {
  if (lua_isnoneornil(L, 1)) {
    device_of_thread.reset();
  } else {
    device_of_thread = check_device(L, 1, "set_default_device: device");
  }
  return 0;
}

int get_default_device(lua_State* L) {
  const c10::Device device = device_of_thread.value_or(c10::Device(c10::kCPU));
  lua_pushstring(L, device.str().c_str());
  return 1;
}

constexpr lua::Method kFunctions[] = {torch_method<&with_device>("with_device"),
                                      torch_method<&set_default_device>("set_default_device"),
                                      torch_method<&get_default_device>("get_default_device")};

}  // namespace

const std::optional<c10::Device>& default_device() { return device_of_thread; }

std::span<const lua::Method> default_device_functions() { return kFunctions; }

}  // namespace rtrain::engine
