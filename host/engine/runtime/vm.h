// host/engine/runtime/vm.h: the engine's data for each Lua virtual machine: cached metatables,
// operators, argument stacks.
//
// A userdata in the registry owns it; it is freed when the state closes. Only the state's thread
// uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "host/api/host_api.h"
#include "host/engine/runtime/wrapped_number.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

class ArgumentStacks;
struct KeptLosses;
struct Op;

struct Vm {
  const void* registry = nullptr;  // identifies the virtual machine
  const api::HostApi* host = nullptr;
  const void* tensor_meta = nullptr;
  int tensor_meta_ref = LUA_NOREF;
  int size_meta_ref = LUA_NOREF;
  int methods_ref = LUA_NOREF;       // the table torch._C.Tensor
  int cdata_kind_ref = LUA_NOREF;    // function(cdata) → 0 other, 1 int64, 2 uint64, 3 complex
  int make_int64_ref = LUA_NOREF;    // function(high, low) → int64 cdata
  int make_complex_ref = LUA_NOREF;  // function(re, im) → complex cdata
  const void* slice_meta = nullptr;
  int slice_meta_ref = LUA_NOREF;
  const void* none = nullptr;  // the userdata torch.none
  int none_ref = LUA_NOREF;
  std::unordered_map<std::string, std::shared_ptr<Op>> ops;

  WrappedNumbers numbers;

  std::shared_ptr<ArgumentStacks> stacks;  // created by open_ops

  lua_State* running = nullptr;  // the coroutine that called backward(): hooks run on it
  // False once the state is closing. Outlives the Vm, for callbacks that LibTorch destroys later.
  std::shared_ptr<bool> open = std::make_shared<bool>(true);

  bool in_comm_hook = false;  // host/engine/runtime/comm_hook.h

  int64_t num_steps = 0;                    // of optimizers
  int loss_found_ref = LUA_NOREF;           // function of watch_losses
  bool sees_every_loss = false;             // true: also finite losses
  std::shared_ptr<KeptLosses> kept_losses;  // set together with that function

  int scope_ref = LUA_NOREF;  // weak list of tensors made in the innermost torch.scope
  size_t scope_count = 0;
  bool collecting = false;
};

// The Vm of the Lua state. Throws Error(kInternal) if the engine was not opened in it.
Vm& vm(lua_State* L);

// Creates the Vm of a new Lua state.
Vm& create_vm(lua_State* L, const api::HostApi* host);

}  // namespace rtrain::engine
