// host/engine/autograd/lua_engine.h: the two questions that LibTorch's autograd engine asks the
// language it is used from: where a node was made (anomaly detection), and how a tensor that a node
// saves is to be kept (saved-tensor hooks).
#pragma once

#include <memory>
#include <string>

#include "host/engine/runtime/callback.h"

namespace rtrain {

// Makes LibTorch use this engine. First call of the process; later ones do nothing.
void install_lua_engine();

// The state whose lines anomaly detection names on this thread; null turns that off.
// Returns what was set before.
lua_State* set_anomaly_state(lua_State* L);

// Where the forward calls were made whose backward raised since the last call, as text that follows
// the error's message; "" if none.
std::string take_anomaly_text();

// Functions that replace a tensor which a node saves by any Lua value, and that back into a tensor.
struct SavedTensorHooks {
  std::shared_ptr<Callback> pack;
  std::shared_ptr<Callback> unpack;
};

// Applies the hooks, to what this thread's operators save, for its lifetime. Null pack: no hooks.
class SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks hooks);
  ~SavedTensorHooksGuard();
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;
};

}  // namespace rtrain
