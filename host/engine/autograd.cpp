#include "host/engine/autograd.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <vector>

#include "host/engine/call.h"
#include "host/engine/callback.h"
#include "host/engine/engine.h"
#include "host/engine/guard.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

using Tensors = std::vector<at::Tensor>;

// Names the state that hooks run on while backward() is under way.
class Running {
 public:
  Running(Vm& vm, lua_State* L) : vm_(vm), before_(vm.running) { vm.running = L; }
  ~Running() { vm_.running = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Vm& vm_;
  lua_State* before_;
};

struct Options {
  Tensors gradients;
  Tensors inputs;
  std::optional<bool> retain_graph;
  bool create_graph = false;
  bool allow_unused = false;
};

// One tensor, or a list of them, or nothing. In a list of gradients nil cannot stand: torch.none
// does.
Tensors read_tensors(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return {};
  if (test_tensor(L, index) != nullptr) return {check_tensor(L, index)};
  if (lua_type(L, index) != LUA_TTABLE) return check_tensors(L, index);
  Tensors out;
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, index)); ++i) {
    lua_rawgeti(L, index, i);
    const bool none = lua_touserdata(L, -1) == vm(L).none;
    out.push_back(none ? at::Tensor() : check_tensor(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  return out;
}

void read_option(lua_State* L, const std::string& key, Options& out) {
  static const std::vector<std::string> kNames = {"gradient",    "grad_tensors", "grad_outputs",
                                                  "inputs",      "retain_graph", "create_graph",
                                                  "allow_unused"};
  const int value = lua_gettop(L);
  if (key == "retain_graph") {
    out.retain_graph = lua_toboolean(L, value) != 0;
  } else if (key == "create_graph") {
    out.create_graph = lua_toboolean(L, value) != 0;
  } else if (key == "allow_unused") {
    out.allow_unused = lua_toboolean(L, value) != 0;
  } else if (key == "inputs") {
    out.inputs = read_tensors(L, value);
  } else if (key == "gradient" || key == "grad_tensors" || key == "grad_outputs") {
    out.gradients = read_tensors(L, value);
  } else {
    throw Error(Code::kArgument,
                cat("backward: unknown keyword '", key, "'", suggestion(key, kNames)));
  }
}

bool is_keywords(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_objlen(L, index) > 0) return false;
  lua_pushnil(L);
  if (lua_next(L, index) == 0) return false;
  const bool out = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return out;
}

// Gradients at `first` if they are no keywords, keywords after them.
Options read_options(lua_State* L, int first) {
  Options out;
  int keywords = first;
  if (!is_keywords(L, first)) {
    out.gradients = read_tensors(L, first);
    ++keywords;
  }
  if (!is_keywords(L, keywords)) return out;
  lua_pushnil(L);
  while (lua_next(L, keywords) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING) throw Error(Code::kArgument, "backward: expected keywords");
    read_option(L, lua_tostring(L, -2), out);
    lua_pop(L, 1);
  }
  return out;
}

int run_backward(lua_State* L, const Tensors& roots) {
  const Options options = read_options(L, 2);
  const Running running(vm(L), L);
  try {
    torch::autograd::backward(roots, options.gradients, options.retain_graph, options.create_graph,
                              options.inputs);
  } catch (const c10::Error& e) {
    throw operator_error("backward", e, "");
  }
  return 0;
}

int backward_all(lua_State* L) { return run_backward(L, read_tensors(L, 1)); }

// An input that the outputs do not depend on has torch.none in the list.
void push_gradient(lua_State* L, const at::Tensor& gradient) {
  if (gradient.defined()) {
    push_tensor(L, gradient);
  } else {
    lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).none_ref);
  }
}

int grad(lua_State* L) {
  const Tensors outputs = read_tensors(L, 1);
  const Tensors inputs = read_tensors(L, 2);
  const Options options = read_options(L, 3);
  Tensors gradients;
  {
    const Running running(vm(L), L);
    gradients = torch::autograd::grad(outputs, inputs, options.gradients, options.retain_graph,
                                      options.create_graph, options.allow_unused);
  }
  lua_createtable(L, static_cast<int>(gradients.size()), 0);
  for (size_t i = 0; i < gradients.size(); ++i) {
    push_gradient(L, gradients[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

// Calls the function at 1 with the arguments after it and passes its results through.
int call_through(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

// The guards are C++ objects: a Lua error unwinds through here and restores the mode.
int no_grad(lua_State* L) {
  const at::NoGradGuard guard;
  return call_through(L);
}

int enable_grad(lua_State* L) {
  const at::AutoGradMode guard(true);
  return call_through(L);
}

int inference_mode(lua_State* L) {
  const c10::InferenceMode guard;
  return call_through(L);
}

int set_grad_enabled(lua_State* L) {
  luaL_checktype(L, 1, LUA_TBOOLEAN);
  lua_pushboolean(L, at::GradMode::is_enabled() ? 1 : 0);
  at::GradMode::set_enabled(lua_toboolean(L, 1) != 0);
  return 1;
}

int is_grad_enabled(lua_State* L) {
  lua_pushboolean(L, at::GradMode::is_enabled() ? 1 : 0);
  return 1;
}

// Calls the hook with the gradient; what it returns, if anything, takes the gradient's place.
at::Tensor call_hook(const Callback& callback, const at::Tensor& gradient) {
  lua_State* L = callback.push();
  push_tensor(L, gradient);
  protected_call(L, 1, 1);
  const at::Tensor* result = test_tensor(L, -1);
  if (result == nullptr && !lua_isnil(L, -1)) {
    const std::string got = describe_value(L, lua_gettop(L));
    lua_pop(L, 1);
    throw Error(Code::kArgument, cat("a tensor hook must return a Tensor or nil, got ", got));
  }
  at::Tensor out = result != nullptr ? *result : at::Tensor();
  lua_pop(L, 1);
  return out;
}

}  // namespace

// A registered hook, to be removed.
struct HookHandle {
  at::Tensor tensor;
  unsigned position;
};

template <>
struct Class<HookHandle> {
  using Slot = std::unique_ptr<HookHandle>;
  static constexpr const char* kName = "torch.HookHandle";
  static int remove(lua_State* L) {
    auto* slot = test<HookHandle>(L, 1);
    if (slot == nullptr) throw Error(Code::kArgument, "remove: expected a hook handle");
    if (*slot) (*slot)->tensor.remove_hook((*slot)->position);
    slot->reset();
    return 0;
  }
  static constexpr Method kMethods[] = {torch_method<&remove>("remove")};
};

int backward(lua_State* L) { return run_backward(L, {check_tensor(L, 1)}); }

int register_hook(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  const auto callback = std::make_shared<Callback>(L);
  const unsigned position = self.register_hook(
      [callback](const at::Tensor& gradient) { return call_hook(*callback, gradient); });
  push<HookHandle>(L, std::make_unique<HookHandle>(HookHandle{self, position}));
  return 1;
}

int retain_grad(lua_State* L) {
  check_tensor(L, 1).retain_grad();
  return 0;
}

void open_autograd(lua_State* L) {
  static constexpr Method kFunctions[] = {
      torch_method<&backward_all>("backward"),
      torch_method<&grad>("grad"),
      torch_method<&no_grad>("no_grad"),
      torch_method<&enable_grad>("enable_grad"),
      torch_method<&inference_mode>("inference_mode"),
      torch_method<&set_grad_enabled>("set_grad_enabled"),
      torch_method<&is_grad_enabled>("is_grad_enabled"),
  };
  for (const Method& f : kFunctions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
  register_class<HookHandle>(L);
}

}  // namespace rtrain
