// host/engine/autograd/autograd.h: the methods of tensors and functions of `torch._C` from this
// folder.
//
// open.cpp turns off LibTorch's own autograd threads, so hooks and custom functions run on the Lua
// thread.
#pragma once

#include <span>
#include <vector>

#include "host/engine/runtime/vm.h"
#include "host/lua/class.h"

namespace rtrain::engine {

// Methods of tensors.
int backward(lua_State* L);  // (tensor, gradient?, {retain_graph, create_graph, inputs, gradient})
int register_hook(lua_State* L);                       // (tensor, fn) → handle with :remove()
int register_post_accumulate_grad_hook(lua_State* L);  // (leaf, fn) → handle with :remove()
int retain_grad(lua_State* L);

// Functions of `torch._C`.
std::span<const lua::Method> backward_functions();    // backward, grad
std::span<const lua::Method> boundary_functions();    // after_backward, before_backward, …
std::span<const lua::Method> hook_functions();        // _call_post_accumulate_grad_hooks
std::span<const lua::Method> grad_mode_functions();   // no_grad, enable_grad, inference_mode, …
std::span<const lua::Method> function_functions();    // apply_function
std::span<const lua::Method> anomaly_functions();     // detect_anomaly, set_detect_anomaly, …
std::span<const lua::Method> loss_watch_functions();  // watch_losses, take_losses, num_steps
std::span<const lua::Method> saved_tensors_functions();  // saved_tensors_hooks
std::span<const lua::Method> transforms_functions();     // _with_vmap, _add_batch_dim, …

void register_hook_class(lua_State* L);

// Reads one tensor, a list of tensors, or nothing at the index. In a list, torch.none stands for an
// undefined tensor.
std::vector<at::Tensor> read_tensors(lua_State* L, int index);

// Pushes the tensor, or torch.none for an undefined one, so that a list has no holes.
void push_or_none(lua_State* L, const at::Tensor& tensor);

// Sets the Lua state that hooks run on, for the time of a backward().
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

}  // namespace rtrain::engine
