// Operators of layers: linear, activations, normalization, embedding, dropout.
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

#include "host/engine/operators/fast/fast_op.h"
#include "host/engine/operators/row_product.h"
#include "host/engine/runtime/loader_thread.h"

namespace rtrain::engine::fast {
namespace {

using at::Tensor;

// Reads a Tensor or nil at the index, which may be past the last argument.
bool read_optional(const Vm& vm, lua_State* L, int index, std::optional<Tensor>& out) {
  if (lua_isnoneornil(L, index)) return true;
  const Tensor* tensor = plain_tensor(vm, L, index);
  if (tensor != nullptr) out = *tensor;
  return tensor != nullptr;
}

int linear(Vm& vm, lua_State* L, int count) {
  if (count != 2 && count != 3) return kNotHere;
  const Tensor* x = plain_tensor(vm, L, 1);
  const Tensor* w = plain_tensor(vm, L, 2);
  std::optional<Tensor> b;
  if (x == nullptr || w == nullptr || !read_optional(vm, L, 3, b)) return kNotHere;
  if (auto row = row_product(*x, *w, b)) return push_one(vm, L, *std::move(row));
  return push_one(vm, L, at::linear(*x, *w, b));
}

// softmax(x, dim)
template <auto Fn>
int along(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  const auto dim = self == nullptr ? std::nullopt : plain_int(L, 2);
  return dim ? push_one(vm, L, Fn(*self, *dim)) : kNotHere;
}

// layer_norm(x, normalized_shape, weight?, bias?, eps?)
int layer_norm(Vm& vm, lua_State* L, int count) {
  const Tensor* x = count >= 2 && count <= 5 ? plain_tensor(vm, L, 1) : nullptr;
  if (x == nullptr) return kNotHere;
  Sizes shape;
  std::optional<Tensor> weight;
  std::optional<Tensor> bias;
  if (lua_type(L, 2) != LUA_TTABLE || !read_sizes(L, 2, 2, shape)) return kNotHere;
  if (!read_optional(vm, L, 3, weight) || !read_optional(vm, L, 4, bias)) return kNotHere;
  if (count == 5 && lua_type(L, 5) != LUA_TNUMBER) return kNotHere;
  const double eps = count == 5 ? lua_tonumber(L, 5) : 1e-5;
  return push_one(vm, L, at::layer_norm(*x, shape, weight, bias, eps));
}

// embedding(weight, indices, padding_idx = -1, scale_grad_by_freq = false, sparse = false)
int embedding(Vm& vm, lua_State* L, int count) {
  if (count != 2 && count != 5) return kNotHere;
  const Tensor* weight = plain_tensor(vm, L, 1);
  const Tensor* indices = plain_tensor(vm, L, 2);
  if (weight == nullptr || indices == nullptr) return kNotHere;
  if (count == 2) return push_one(vm, L, at::embedding(*weight, *indices));
  const auto padding = plain_int(L, 3);
  if (!padding || lua_type(L, 4) != LUA_TBOOLEAN || lua_type(L, 5) != LUA_TBOOLEAN) return kNotHere;
  return push_one(vm, L,
                  at::embedding(*weight, *indices, *padding, lua_toboolean(L, 4) != 0,
                                lua_toboolean(L, 5) != 0));
}

// dropout(x, p, train)
int dropout(Vm& vm, lua_State* L, int count) {
  const Tensor* x = count == 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (x == nullptr || lua_type(L, 2) != LUA_TNUMBER || lua_type(L, 3) != LUA_TBOOLEAN)
    return kNotHere;
  if (in_loader_thread()) return kNotHere;  // the general path throws the error
  return push_one(vm, L, at::dropout(*x, lua_tonumber(L, 2), lua_toboolean(L, 3) != 0));
}

// Names the plain one of several C++ overloads.
Tensor softmax(const Tensor& x, int64_t dim) { return at::softmax(x, dim); }
Tensor log_softmax(const Tensor& x, int64_t dim) { return at::log_softmax(x, dim); }
Tensor gelu(const Tensor& x) { return at::gelu(x); }
void relu_(Tensor& self) { self.relu_(); }

constexpr FastOp kOps[] = {
    fast<&linear>("linear"),           fast<&layer_norm>("layer_norm"),
    fast<&embedding>("embedding"),     fast<&dropout>("dropout"),
    fast<&along<&softmax>>("softmax"), fast<&along<&log_softmax>>("log_softmax"),
    fast<&unary<&gelu>>("gelu"),       fast<&unary<&at::relu>>("relu"),
    fast<&unary<&at::silu>>("silu"),   fast<&unary<&at::sigmoid>>("sigmoid"),
    fast<&unary<&at::tanh>>("tanh"),   fast<&unary_in_place<&relu_>>("relu_"),
};

}  // namespace

std::span<const FastOp> layer_ops() { return kOps; }

}  // namespace rtrain::engine::fast
