// host/engine/autograd/lua_engine.h: the two hooks through which LibTorch's autograd engine asks
// its host language: where a node was created (anomaly detection), and how to keep a tensor that a
// node saves (saved-tensor hooks).
#pragma once

#include <memory>
#include <string>

#include "host/engine/runtime/callback.h"

namespace rtrain::engine {

// Makes LibTorch use this engine. Only the first call in the process has an effect.
void install_lua_engine();

// Sets the Lua state whose lines anomaly detection names on this thread; null turns it off. Returns
// the previous one.
lua_State* set_anomaly_state(lua_State* L);

// The forward calls whose backward raised since the last call, as text to append to the error's
// message; "" if there are none.
std::string take_anomaly_text();

// Lua functions that turn a saved tensor into any Lua value (pack) and back (unpack).
struct SavedTensorHooks {
  std::shared_ptr<Callback> pack;
  std::shared_ptr<Callback> unpack;
};

// While it exists, applies the hooks to what operators save on this thread. Null pack: no hooks.
class SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks hooks);
  ~SavedTensorHooksGuard();
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;
};

}  // namespace rtrain::engine
