// saved_tensors_hooks: how tensors that backward needs are stored until then.
#include <string>
#include <utility>

#include "host/engine/autograd/autograd.h"
#include "host/engine/autograd/lua_engine.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {
namespace {

// Error message for hooks on this thread while they are disabled, else empty.
thread_local std::string refusal;

// While it exists, no hooks are in force and setting hooks is an error.
class Disabled {
 public:
  explicit Disabled(std::string message)
      : before_(std::exchange(refusal, std::move(message))), no_hooks_({}) {}
  ~Disabled() { refusal = std::move(before_); }
  Disabled(const Disabled&) = delete;
  Disabled& operator=(const Disabled&) = delete;

 private:
  std::string before_;
  SavedTensorHooksGuard no_hooks_;
};

// saved_tensors_hooks(pack, unpack, fn, …): calls fn(…) with the hooks in force and returns its
// results.
int saved_tensors_hooks(lua_State* L) {
  check_callable(L, 1, "saved_tensors_hooks: pack");
  check_callable(L, 2, "saved_tensors_hooks: unpack");
  check_callable(L, 3, "saved_tensors_hooks: fn");
  if (!refusal.empty()) throw Error(Code::kArgument, refusal);
  SavedTensorHooks hooks;
  lua_pushvalue(L, 1);
  hooks.pack = std::make_shared<Callback>(L);
  lua_pushvalue(L, 2);
  hooks.unpack = std::make_shared<Callback>(L);
  const SavedTensorHooksGuard guard(std::move(hooks));
  lua_call(L, lua_gettop(L) - 3, LUA_MULTRET);
  return lua_gettop(L) - 2;
}

// disable_saved_tensors_hooks(message, fn, …): calls fn(…); setting hooks inside raises an error
// with that message.
int disable_saved_tensors_hooks(lua_State* L) {
  const std::string_view message = check_text(L, 1, "disable_saved_tensors_hooks: message");
  check_callable(L, 2, "disable_saved_tensors_hooks: fn");
  const Disabled disabled(message.empty() ? "saved tensor hooks are disabled"
                                          : std::string(message));
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&saved_tensors_hooks>("saved_tensors_hooks"),
    torch_method<&disable_saved_tensors_hooks>("disable_saved_tensors_hooks"),
};

}  // namespace

std::span<const lua::Method> saved_tensors_functions() { return kFunctions; }

}  // namespace rtrain::engine
