// Layers of torch.func: vmap, grad and jvp around a function call, and the functions that wrap and
// unwrap tensors at a layer.
//
// Each call of a Lua function runs within one layer of LibTorch's stack. The layers are C++
// objects, so a Lua error that unwinds removes them.
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#include <ATen/functorch/TensorWrapper.h>
#include <ATen/ops/_make_dual.h>
#include <ATen/ops/_unpack_dual.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/autograd/variable.h>

#include "host/base/text/text.h"
#include "host/engine/autograd/autograd.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

namespace ft = at::functorch;
using torch::autograd::ForwardADLevel;

class Layer {
 public:
  explicit Layer(int64_t level) : level_(level) {}
  ~Layer() { ft::popDynamicLayerAndDeleteMetadata(); }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  int64_t level() const { return level_; }

 private:
  int64_t level_;
};

// LibTorch has one level of forward-mode AD. The outermost jvp opens it.
class DualLevel {
 public:
  DualLevel() {
    if (depth()++ == 0) ForwardADLevel::get_next_idx();
  }
  ~DualLevel() {
    if (--depth() == 0) ForwardADLevel::release_idx(0);
  }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

// Calls the function at index `fn` with the level and the arguments after it.
int call_in(lua_State* L, int fn, const Layer& layer) {
  check_callable(L, fn, "torch.func: fn");
  lua_pushinteger(L, static_cast<lua_Integer>(layer.level()));
  lua_insert(L, fn + 1);
  lua_call(L, lua_gettop(L) - fn, LUA_MULTRET);
  return lua_gettop(L) - fn + 1;
}

ft::RandomnessType randomness_of(std::string_view name) {
  if (name == "error") return ft::RandomnessType::Error;
  if (name == "different") return ft::RandomnessType::Different;
  if (name == "same") return ft::RandomnessType::Same;
  throw Error(Code::kArgument, cat("torch.func.vmap: randomness cannot be '", name,
                                   "': 'error', 'different' or 'same'"));
}

int64_t check_integer(lua_State* L, int index) {
  return static_cast<int64_t>(luaL_checkinteger(L, index));
}

// (batch_size, randomness, fn, …) → results of fn(level, …)
int with_vmap(lua_State* L) {
  const int64_t size = check_integer(L, 1);
  const auto randomness = randomness_of(check_text(L, 2, "torch.func.vmap: randomness"));
  const Layer layer(
      ft::initAndPushDynamicLayer(ft::TransformType::Vmap, c10::SymInt(size), randomness));
  return call_in(L, 3, layer);
}

// (fn, …)
int with_grad(lua_State* L) {
  const Layer layer(
      ft::initAndPushDynamicLayer(ft::TransformType::Grad, {}, {}, at::GradMode::is_enabled()));
  const at::AutoGradMode recording(true);
  return call_in(L, 1, layer);
}

// (fn, …)
int with_jvp(lua_State* L) {
  const bool is_enabled = c10::AutogradState::get_tls_state().get_fw_grad_mode();
  const Layer layer(ft::initAndPushDynamicLayer(ft::TransformType::Jvp, {}, {}, {}, is_enabled));
  const c10::AutoFwGradMode recording(true);
  const DualLevel dual;
  return call_in(L, 1, layer);
}

// (tensor, dim, level)
int add_batch_dim(lua_State* L) {
  push_tensor(L, ft::addBatchDim(check_tensor(L, 1), check_integer(L, 2), check_integer(L, 3)));
  return 1;
}

ft::BatchedTensorImpl* batched_at(const at::Tensor& tensor, int64_t level) {
  ft::BatchedTensorImpl* batched = ft::maybeGetBatchedImpl(tensor);
  return batched != nullptr && batched->level() >= level ? batched : nullptr;
}

// (tensor, level, batch_size, dim). A tensor that does not depend on the batch is expanded to it.
int remove_batch_dim(lua_State* L) {
  const at::Tensor tensor = check_tensor(L, 1);
  const int64_t size = check_integer(L, 3);
  int64_t dim = check_integer(L, 4);
  const int64_t rank = tensor.dim() + 1;
  if (dim < -rank || dim >= rank) {
    throw Error(Code::kArgument, cat("torch.func.vmap: out_dims is ", dim, ", and the result has ",
                                     rank, " dimensions"));
  }
  if (const ft::BatchedTensorImpl* batched = batched_at(tensor, check_integer(L, 2))) {
    push_tensor(L, batched->value().movedim(batched->bdim(), dim));
    return 1;
  }
  if (dim < 0) dim += rank;
  std::vector<int64_t> sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin() + dim, size);
  push_tensor(L, tensor.unsqueeze(dim).expand(sizes));
  return 1;
}

// (tensor, level)
int is_batched(lua_State* L) {
  lua_pushboolean(L, batched_at(check_tensor(L, 1), check_integer(L, 2)) != nullptr ? 1 : 0);
  return 1;
}

// (tensor, level, is_leaf). Leaves are the tensors to differentiate with respect to.
int wrap_for_grad(lua_State* L) {
  at::Tensor wrapped = ft::makeTensorWrapper(check_tensor(L, 1), check_integer(L, 2));
  if (lua_toboolean(L, 3) != 0) {
    if (!torch::autograd::isDifferentiableType(wrapped.scalar_type())) {
      throw Error(Code::kArgument, cat("torch.func: cannot differentiate by a tensor of ",
                                       describe(wrapped), ": floating-point and complex ones"));
    }
    wrapped.set_requires_grad(true);
  }
  push_tensor(L, std::move(wrapped));
  return 1;
}

// (tensor, level)
int unwrap_for_grad(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  const ft::TensorWrapper* wrapper = ft::maybeGetTensorWrapper(tensor);
  const bool is_of_level = wrapper != nullptr && wrapper->level() == check_integer(L, 2);
  push_tensor(L, is_of_level ? wrapper->value() : tensor);
  return 1;
}

// (primal, tangent)
int make_dual(lua_State* L) {
  push_tensor(L, at::_make_dual(check_tensor(L, 1), check_tensor(L, 2), 0));
  return 1;
}

// (dual) → primal, tangent
int unpack_dual(lua_State* L) {
  auto [primal, tangent] = at::_unpack_dual(check_tensor(L, 1), 0);
  if (!tangent.defined()) tangent = at::zeros_like(primal);
  push_tensor(L, std::move(primal));
  push_tensor(L, std::move(tangent));
  return 2;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&with_vmap>("_with_vmap"),
    torch_method<&with_grad>("_with_grad"),
    torch_method<&with_jvp>("_with_jvp"),
    torch_method<&add_batch_dim>("_add_batch_dim"),
    torch_method<&remove_batch_dim>("_remove_batch_dim"),
    torch_method<&is_batched>("_is_batched"),
    torch_method<&wrap_for_grad>("_wrap_for_grad"),
    torch_method<&unwrap_for_grad>("_unwrap_for_grad"),
    torch_method<&make_dual>("_make_dual_tensor"),
    torch_method<&unpack_dual>("_unpack_dual_tensor"),
};

}  // namespace

std::span<const lua::Method> transforms_functions() { return kFunctions; }

}  // namespace rtrain::engine
