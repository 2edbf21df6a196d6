// Operations whose forward and backward are Lua functions: torch.autograd.Function.
//
// A node of the graph holds the Lua function that computes its gradients. Tensors that `ctx` saves
// are kept in SavedVariables, not in Lua tables: so a saved output makes no cycle between the graph
// and Lua, and autograd notices a change in place.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "host/engine/autograd/autograd.h"
#include "host/engine/runtime/callback.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/torch_version.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using Impls = std::unordered_set<at::TensorImpl*>;

// What forward() stored in its `ctx`.
struct Marks {
  variable_list to_save;
  variable_list dirty;
  Impls non_differentiable;
  bool materialize_grads = true;
};

// Takes the tensors out of the field. The node holds the context, so an output that stayed in the
// context would hold the node and therefore itself.
variable_list take_field(lua_State* L, int context, const char* name) {
  lua_pushstring(L, name);
  lua_pushvalue(L, -1);
  lua_rawget(L, context);
  variable_list out = read_tensors(L, lua_gettop(L));
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_rawset(L, context);
  return out;
}

Impls impls_of(const variable_list& tensors) {
  Impls out;
  for (const at::Tensor& tensor : tensors) out.insert(tensor.unsafeGetTensorImpl());
  return out;
}

Marks take_marks(lua_State* L, int context) {
  Marks out;
  out.to_save = take_field(L, context, "_to_save");
  out.dirty = take_field(L, context, "_dirty");
  out.non_differentiable = impls_of(take_field(L, context, "_non_differentiable"));
  lua_pushliteral(L, "_materialize_grads");
  lua_rawget(L, context);
  out.materialize_grads = lua_isnil(L, -1) || lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return out;
}

// The autograd node of one call.
class LuaNode final : public torch::autograd::Node {
 public:
  LuaNode(std::string name, std::vector<bool> is_tensor)
      : name_(std::move(name)), is_tensor_(std::move(is_tensor)) {}

  std::string name() const override { return name_ + "Backward"; }

  void set_backward(std::unique_ptr<Callback> backward) { backward_ = std::move(backward); }

  // Keeps the tensors that forward saved. `self` is this node.
  void save(const Marks& marks, const NodePtr& self) {
    materialize_grads_ = marks.materialize_grads;
    for (const at::Tensor& tensor : marks.to_save) {
      const bool is_output = tensor.defined() && tensor.grad_fn() == self;
      saved_.emplace_back(tensor, is_output);
    }
  }

  void release_variables() override {
    saved_.clear();
    released_ = true;
  }

  variable_list apply(variable_list&& gradients) override {
    if (released_) TORCH_CHECK(false, torch::autograd::ERR_BACKWARD_TWICE);
    lua_State* L = backward_->push();
    const int base = lua_gettop(L) - 1;
    luaL_checkstack(L, static_cast<int>(gradients.size()) + 8, "too many gradients");
    push_saved(L);
    for (size_t i = 0; i < gradients.size(); ++i) push_tensor(L, given(gradients[i], i));
    lua::protected_call(L, static_cast<int>(gradients.size()) + 1, LUA_MULTRET);
    variable_list out = read_results(L, base);
    lua_settop(L, base);
    return out;
  }

 private:
  void push_saved(lua_State* L) {
    lua_createtable(L, static_cast<int>(saved_.size()), 0);
    for (size_t i = 0; i < saved_.size(); ++i) {
      push_or_none(L, saved_[i].unpack(getptr()));
      lua_rawseti(L, -2, static_cast<int>(i) + 1);
    }
  }

  at::Tensor given(const at::Tensor& gradient, size_t i) const {
    if (gradient.defined() || !materialize_grads_) return gradient;
    return input_metadata(i).zeros_like();
  }

  // Reads one result for each argument of forward, and keeps the gradients of those that are
  // tensors.
  variable_list read_results(lua_State* L, int base) const {
    const int count = lua_gettop(L) - base;
    const int wanted = static_cast<int>(is_tensor_.size());
    bool fits = count >= wanted;
    for (int i = wanted; fits && i < count; ++i) fits = lua_isnil(L, base + 1 + i);
    if (!fits) {
      throw Error(Code::kArgument,
                  cat(name_, ".backward returned ", count, " values, expected ", wanted,
                      ": one for each argument of forward (nil where "
                      "there is no gradient)"));
    }
    variable_list out;
    for (int i = 0; i < wanted; ++i) {
      const int index = base + 1 + i;
      const at::Tensor* gradient = test_tensor(L, index);
      if (!lua_isnil(L, index) && (gradient == nullptr || !is_tensor_[static_cast<size_t>(i)])) {
        throw Error(Code::kArgument,
                    cat(name_, ".backward: value ", i + 1, " must be ",
                        is_tensor_[static_cast<size_t>(i)] ? "a Tensor or nil" : "nil", ", got ",
                        describe_value(L, index)));
      }
      if (is_tensor_[static_cast<size_t>(i)]) {
        out.push_back(gradient == nullptr ? at::Tensor() : *gradient);
      }
    }
    return out;
  }

  std::string name_;
  std::vector<bool> is_tensor_;  // for each argument of forward
  std::unique_ptr<Callback> backward_;
  std::vector<SavedVariable> saved_;
  bool materialize_grads_ = true;
  bool released_ = false;
};

constexpr int kContext = 2;
constexpr int kForward = 3;
constexpr int kBackward = 4;
constexpr int kFirst = 5;  // the first argument of forward

// ctx.needs_input_grad
void set_needs_input_grad(lua_State* L, const LuaNode* node, const std::vector<bool>& is_tensor) {
  lua_createtable(L, static_cast<int>(is_tensor.size()), 0);
  for (size_t i = 0; i < is_tensor.size(); ++i) {
    const int index = kFirst + static_cast<int>(i);
    const bool needed = node != nullptr && is_tensor[i] && check_tensor(L, index).requires_grad();
    lua_pushboolean(L, needed ? 1 : 0);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_pushliteral(L, "needs_input_grad");
  lua_insert(L, -2);
  lua_rawset(L, kContext);
}

// Calls forward(ctx, …) without recording the graph. The results lie behind the arguments on the
// stack.
void call_forward(lua_State* L, int count) {
  const at::NoGradGuard guard;
  luaL_checkstack(L, count + 8, "too many arguments");
  lua_pushvalue(L, kForward);
  lua_pushvalue(L, kContext);
  for (int i = 0; i < count; ++i) lua_pushvalue(L, kFirst + i);
  lua_call(L, count + 1, LUA_MULTRET);
}

// Replaces the results from `first` on by tensors that are part of the graph.
void connect_results(lua_State* L, int first, const variable_list& inputs, const Marks& marks,
                     const NodePtr& node) {
  std::vector<std::optional<at::Tensor>> raw;
  std::vector<int> places;
  for (int i = first; i <= lua_gettop(L); ++i) {
    const at::Tensor* tensor = test_tensor(L, i);
    if (tensor == nullptr) continue;
    raw.emplace_back(*tensor);
    places.push_back(i);
  }
  for (const at::Tensor& tensor : marks.dirty) {
    tensor.unsafeGetTensorImpl()->bump_version();
  }
  const torch::autograd::_view_as_self_fn_t view_as_itself = [](at::Tensor x) {
    return x.view_as(x);
  };
  const auto wrapped =
      wrap_outputs(inputs, marks.non_differentiable, impls_of(marks.dirty), raw, node,
                   torch::autograd::_jvp_fn_t(), Impls(), view_as_itself, false);
  for (size_t i = 0; i < wrapped.size(); ++i) {
    if (wrapped[i]->is_same(*raw[i])) continue;
    push_tensor(L, *wrapped[i]);
    lua_replace(L, places[i]);
  }
}

// apply_function(name, ctx, forward, backward, …) → the results of forward(ctx, …), as part of the
// graph. backward(saved, …) gets the list of saved tensors and one gradient for each tensor that
// forward returned. It returns one gradient for each argument of forward.
int apply_function(lua_State* L) {
  const std::string name = luaL_checkstring(L, 1);
  luaL_checktype(L, kContext, LUA_TTABLE);
  const int count = lua_gettop(L) - kFirst + 1;
  variable_list inputs;
  std::vector<bool> is_tensor;
  for (int i = kFirst; i < kFirst + count; ++i) {
    is_tensor.push_back(test_tensor(L, i) != nullptr);
    if (is_tensor.back()) inputs.push_back(check_tensor(L, i));
  }
  decltype(make_node<LuaNode>(name, is_tensor)) node;
  if (at::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(inputs)) {
    node = make_node<LuaNode>(name, is_tensor);
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
    node->clear_input_metadata();
  }
  set_needs_input_grad(L, node.get(), is_tensor);
  const int first = lua_gettop(L) + 1;
  call_forward(L, count);
  const Marks marks = take_marks(L, kContext);
  connect_results(L, first, inputs, marks, node);
  if (node != nullptr) {
    node->save(marks, node);
    lua_pushvalue(L, kBackward);
    node->set_backward(std::make_unique<Callback>(L));
  }
  return lua_gettop(L) - first + 1;
}

constexpr lua::Method kFunctions[] = {torch_method<&apply_function>("apply_function")};

}  // namespace

std::span<const lua::Method> function_functions() { return kFunctions; }

}  // namespace rtrain::engine
