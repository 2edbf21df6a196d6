// Functions of `torch._C` that a backward pass calls when it comes to a place, without the
// gradients there: a gradient that Lua has seen lives until the next garbage collection.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "host/engine/autograd/autograd.h"
#include "host/engine/runtime/callback.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void call(const Callback& callback) {
  lua_State* L = callback.push();
  lua::protected_call(L, 0, 0);
}

struct HeldCallback : torch::CustomClassHolder {
  explicit HeldCallback(lua_State* L) : callback(L) {}
  Callback callback;
};

// The identity. Its backward calls the function.
struct Boundary : torch::autograd::Function<Boundary> {
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               const c10::intrusive_ptr<HeldCallback>& held) {
    context->saved_data["held"] = c10::IValue::make_capsule(held);
    context->set_materialize_grads(false);
    variable_list out;
    for (const at::Tensor& tensor : tensors) out.push_back(tensor.view_as(tensor));
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    call(c10::static_intrusive_pointer_cast<HeldCallback>(context->saved_data["held"].toCapsule())
             ->callback);
    grads.emplace_back();  // for the argument `held`
    return grads;
  }
};

// after_backward(fn, tensors): returns the tensors behind a node whose backward calls fn: when the
// gradients of the tensors are computed.
int after_backward(lua_State* L) {
  check_callable(L, 1, "after_backward");
  const std::vector<at::Tensor> tensors = check_tensors(L, 2);
  lua_settop(L, 1);
  const auto held = c10::make_intrusive<HeldCallback>(L);
  push_tensors(L, Boundary::apply(at::TensorList(tensors), held));
  return 1;
}

// before_backward(fn, tensor): fn is called whenever a gradient comes to the tensor.
int before_backward(lua_State* L) {
  check_callable(L, 1, "before_backward");
  const at::Tensor tensor = check_tensor(L, 2);
  lua_settop(L, 1);
  const auto callback = std::make_shared<Callback>(L);
  tensor.register_hook([callback](const at::Tensor&) { call(*callback); });
  return 0;
}

// queue_callback(fn): during a backward pass: fn is called when the pass has ended.
int queue_callback(lua_State* L) {
  check_callable(L, 1, "queue_callback");
  lua_settop(L, 1);
  const auto callback = std::make_shared<Callback>(L);
  torch::autograd::Engine::get_default_engine().queue_callback([callback] { call(*callback); });
  return 0;
}

// The number of the backward pass in which this thread is; -1 outside of any.
int current_graph_task_id(lua_State* L) {
  lua_pushinteger(L, torch::autograd::get_current_graph_task_id());
  return 1;
}

constexpr std::array kFunctions = {torch_method<&after_backward>("after_backward"),
                                   torch_method<&before_backward>("before_backward"),
                                   torch_method<&queue_callback>("queue_callback"),
                                   torch_method<&current_graph_task_id>("current_graph_task_id")};

}  // namespace

std::span<const lua::Method> boundary_functions() { return kFunctions; }

}  // namespace rtrain::engine
