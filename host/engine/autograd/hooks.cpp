// Hooks of tensors: functions that get a gradient during backward.
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <array>
#include <span>
#include <vector>

#include "host/engine/autograd/autograd.h"
#include "host/engine/runtime/callback.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/tensor/shard_guard.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

// Calls the hook with the gradient. If the hook returns a tensor, that replaces the gradient.
at::Tensor call_hook(const Callback& callback, const at::Tensor& gradient) {
  lua_State* L = callback.push();
  push_tensor(L, gradient);
  lua::protected_call(L, 1, 1);
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

// All post-accumulate hooks of one leaf, because LibTorch keeps only one for each leaf.
class AfterAccumulation final : public torch::autograd::PostAccumulateGradHook {
 public:
  void operator()(const at::Tensor& leaf) override {
    // A copy, because a hook may remove itself or add others.
    const auto callbacks = callbacks_;
    for (const auto& callback : callbacks) {
      lua_State* L = callback->push();
      push_tensor(L, leaf);
      lua::protected_call(L, 1, 0);
    }
  }
  void add(std::shared_ptr<Callback> callback) { callbacks_.push_back(std::move(callback)); }
  void remove(const std::shared_ptr<Callback>& callback) { std::erase(callbacks_, callback); }

 private:
  std::vector<std::shared_ptr<Callback>> callbacks_;
};

AfterAccumulation* after_accumulation(const at::Tensor& leaf) {
  return dynamic_cast<AfterAccumulation*>(torch::autograd::impl::post_acc_grad_hooks(leaf).get());
}

}  // namespace

// A registered hook, which remove() removes.
class HookHandle {
 public:
  HookHandle(at::Tensor tensor, unsigned position)
      : tensor_(std::move(tensor)), position_(position) {}
  HookHandle(at::Tensor leaf, std::shared_ptr<Callback> callback)
      : tensor_(std::move(leaf)), callback_(std::move(callback)) {}

  void remove() const {
    if (callback_ == nullptr) {
      tensor_.remove_hook(position_);
    } else if (AfterAccumulation* hooks = after_accumulation(tensor_)) {
      hooks->remove(callback_);
    }
  }

 private:
  at::Tensor tensor_;
  unsigned position_ = 0;
  std::shared_ptr<Callback> callback_;
};

}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::HookHandle> {
  using Slot = std::unique_ptr<rtrain::engine::HookHandle>;
  static constexpr const char* kName = "torch.HookHandle";
};

namespace rtrain::engine {

struct HookMethods {
  static int remove(lua_State* L) {
    auto* slot = lua::test<HookHandle>(L, 1);
    if (slot == nullptr) throw Error(Code::kArgument, "remove: expected a hook handle");
    if (*slot) (*slot)->remove();
    slot->reset();
    return 0;
  }
  static constexpr lua::Method kMethods[] = {torch_method<&remove>("remove")};
};

int register_hook(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  check_callable(L, 2, "register_hook: hook");
  if (shard_number(self) != 0) {
    throw Error(
        Code::kUnsupported,
        "register_hook: this parameter is sharded (fully_shard), and its gradient comes from "
        "the exchange with the other ranks: use register_post_accumulate_grad_hook, or "
        "change p.grad after backward");
  }
  lua_settop(L, 2);
  const auto callback = std::make_shared<Callback>(L);
  const unsigned position = self.register_hook(
      [callback](const at::Tensor& gradient) { return call_hook(*callback, gradient); });
  lua::push<HookHandle>(L, std::make_unique<HookHandle>(self, position));
  return 1;
}

int register_post_accumulate_grad_hook(lua_State* L) {
  const at::Tensor& self = check_tensor(L, 1);
  check_callable(L, 2, "register_post_accumulate_grad_hook: hook");
  if (!self.is_leaf() || !self.requires_grad()) {
    throw Error(Code::kArgument,
                "register_post_accumulate_grad_hook: only a leaf that requires grad accumulates "
                "a gradient");
  }
  lua_settop(L, 2);
  auto callback = std::make_shared<Callback>(L);
  if (after_accumulation(self) == nullptr) {
    torch::autograd::impl::set_post_acc_grad_hooks(self, std::make_unique<AfterAccumulation>());
  }
  after_accumulation(self)->add(callback);
  lua::push<HookHandle>(L, std::make_unique<HookHandle>(self, std::move(callback)));
  return 1;
}

// _call_post_accumulate_grad_hooks(leaf): for gradients that do not come from LibTorch.
int call_post_accumulate_grad_hooks(lua_State* L) {
  const at::Tensor leaf = check_tensor(L, 1);
  if (AfterAccumulation* hooks = after_accumulation(leaf)) (*hooks)(leaf);
  return 0;
}

std::span<const lua::Method> hook_functions() {
  static constexpr std::array kFunctions = {
      torch_method<&call_post_accumulate_grad_hooks>("_call_post_accumulate_grad_hooks")};
  return kFunctions;
}

int retain_grad(lua_State* L) {
  check_tensor(L, 1).retain_grad();
  return 0;
}

void register_hook_class(lua_State* L) {
  lua::register_class<HookHandle>(L, HookMethods::kMethods);
}

}  // namespace rtrain::engine
