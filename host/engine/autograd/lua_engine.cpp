#include "host/engine/autograd/lua_engine.h"

#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <mutex>
#include <utility>
#include <vector>

#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/torch_version.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

thread_local lua_State* anomaly_state = nullptr;
thread_local std::string anomaly_text;
thread_local std::vector<SavedTensorHooks> saved_tensor_hooks;

// Remembers the line of the user's script that created a node.
class LuaMetadata final : public torch::autograd::AnomalyMetadata {
 public:
  void store_stack() override {
    if (anomaly_state != nullptr) position_ = lua::user_position(anomaly_state);
  }
  void print_stack(const std::string& name) override {
    anomaly_text = cat("\n  the forward call behind ", name, ": ", described());
    const LuaMetadata* above = this;
    while (above->parent_ != nullptr) {
      const auto& node = *above->parent_;
      above = static_cast<const LuaMetadata*>(above->parent_->metadata());
      anomaly_text += cat("\n  made in the backward of ", node.name(), ": ", above->described());
    }
  }
  void assign_parent(const NodePtr& parent) override { parent_ = parent; }

 private:
  std::string_view described() const {
    return position_.empty() ? std::string_view("unknown, it was made before detection began")
                             : position_;
  }

  std::string position_;
  NodePtr parent_;
};

// One saved tensor, as the value that the pack function returned.
class LuaSavedTensor final : public torch::autograd::SavedVariableHooks {
 public:
  explicit LuaSavedTensor(SavedTensorHooks hooks) : hooks_(std::move(hooks)) {}

  void call_pack_hook(const at::Tensor& tensor) override {
    lua_State* L = hooks_.pack->push();
    push_tensor(L, tensor);
    lua::protected_call(L, 1, 1);
    packed_ = std::make_unique<Callback>(L);
  }

  at::Tensor call_unpack_hook() override {
    lua_State* L = hooks_.unpack->push();
    packed_->push();
    lua::protected_call(L, 1, 1);
    const at::Tensor* tensor = test_tensor(L, -1);
    if (tensor == nullptr || !tensor->defined()) {
      const std::string got = describe_value(L, lua_gettop(L));
      lua_pop(L, 1);
      throw Error(Code::kArgument, cat("an unpack hook must return a Tensor, got ", got));
    }
    at::Tensor out = *tensor;
    lua_pop(L, 1);
    return out;
  }

 private:
  SavedTensorHooks hooks_;
  std::unique_ptr<Callback> packed_;
};

class LuaEngine final : public torch::autograd::Engine {
 public:
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override {
    return std::make_unique<LuaMetadata>();
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (saved_tensor_hooks.empty() || saved_tensor_hooks.back().pack == nullptr) return nullptr;
    return std::make_unique<LuaSavedTensor>(saved_tensor_hooks.back());
  }
};

torch::autograd::Engine& lua_engine() {
  // Never destroyed, because graphs may outlive all static objects.
  static auto* engine = new LuaEngine;
  return *engine;
}

}  // namespace

void install_lua_engine() {
  static std::once_flag once;
  std::call_once(once, [] { torch::autograd::set_default_engine_stub(&lua_engine); });
}

lua_State* set_anomaly_state(lua_State* L) { return std::exchange(anomaly_state, L); }

std::string take_anomaly_text() { return std::exchange(anomaly_text, {}); }

SavedTensorHooksGuard::SavedTensorHooksGuard(SavedTensorHooks hooks) {
  saved_tensor_hooks.push_back(std::move(hooks));
}

SavedTensorHooksGuard::~SavedTensorHooksGuard() { saved_tensor_hooks.pop_back(); }

}  // namespace rtrain::engine
