// Reshaping, copies and concatenation.
#include <ATen/ops/cat.h>
#include <ATen/ops/flatten.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/t.h>

#include "host/engine/operators/fast/fast_op.h"

namespace rtrain::engine::fast {
namespace {

using at::Tensor;

template <class Fn>
int with_sizes(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count >= 2 ? plain_tensor(vm, L, 1) : nullptr;
  Sizes sizes;
  if (self == nullptr || !read_sizes(L, 2, count, sizes)) return kNotHere;
  return push_one(vm, L, Fn::call(*self, sizes));
}

struct View {
  static Tensor call(const Tensor& x, at::IntArrayRef s) { return x.view(s); }
};
struct Reshape {
  static Tensor call(const Tensor& x, at::IntArrayRef s) { return x.reshape(s); }
};
struct Permute {
  static Tensor call(const Tensor& x, at::IntArrayRef s) { return x.permute(s); }
};
struct Expand {
  static Tensor call(const Tensor& x, at::IntArrayRef s) { return x.expand(s); }
};

int transpose(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 3 ? plain_tensor(vm, L, 1) : nullptr;
  Sizes dims;
  if (self == nullptr || !read_sizes(L, 2, count, dims) || dims.size() != 2) return kNotHere;
  return push_one(vm, L, self->transpose(dims[0], dims[1]));
}

int unsqueeze(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  const auto dim = self == nullptr ? std::nullopt : plain_int(L, 2);
  return dim ? push_one(vm, L, self->unsqueeze(*dim)) : kNotHere;
}

int squeeze(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 1 || count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  if (count == 1) return push_one(vm, L, self->squeeze());
  const auto dim = plain_int(L, 2);
  return dim ? push_one(vm, L, self->squeeze(*dim)) : kNotHere;
}

int flatten(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count >= 1 && count <= 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  const auto start = count >= 2 ? plain_int(L, 2) : std::optional<int64_t>(0);
  const auto end = count == 3 ? plain_int(L, 3) : std::optional<int64_t>(-1);
  return start && end ? push_one(vm, L, self->flatten(*start, *end)) : kNotHere;
}

int contiguous(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 1 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  return self->is_contiguous() ? push_self(L) : push_one(vm, L, self->contiguous());
}

// A list of tensors and a dimension, by position.
template <auto Fn>
int join(Vm& vm, lua_State* L, int count) {
  if (count < 1 || count > 2 || lua_type(L, 1) != LUA_TTABLE) return kNotHere;
  const auto dim = count == 2 ? plain_int(L, 2) : std::optional<int64_t>(0);
  const int size = static_cast<int>(lua_objlen(L, 1));
  if (!dim || size == 0 || !lua::is_list(L, 1, size)) return kNotHere;
  c10::SmallVector<Tensor, 8> parts;
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L, 1, i);
    const Tensor* part = plain_tensor(vm, L, -1);
    if (part != nullptr) parts.push_back(*part);
    lua_pop(L, 1);
    if (part == nullptr) return kNotHere;
  }
  return push_one(vm, L, Fn(at::TensorList(parts.data(), parts.size()), *dim));
}

// Names the plain one of several C++ overloads.
Tensor cat(at::TensorList parts, int64_t dim) { return at::cat(parts, dim); }
Tensor stack(at::TensorList parts, int64_t dim) { return at::stack(parts, dim); }
Tensor clone(const Tensor& self) { return self.clone(); }

// A tensor, the number or size of parts, and a dimension, by position.
template <class Fn>
int divide(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 2 || count == 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  const auto number = plain_int(L, 2);
  const auto dim = count == 3 ? plain_int(L, 3) : std::optional<int64_t>(0);
  return number && dim ? push_list(vm, L, Fn::call(*self, *number, *dim)) : kNotHere;
}

struct Chunk {
  static std::vector<Tensor> call(const Tensor& x, int64_t n, int64_t dim) {
    return x.chunk(n, dim);
  }
};
struct Split {
  static std::vector<Tensor> call(const Tensor& x, int64_t n, int64_t dim) {
    return x.split(n, dim);
  }
};

constexpr FastOp kOps[] = {
    fast<&with_sizes<View>>("view"),
    fast<&with_sizes<Reshape>>("reshape"),
    fast<&with_sizes<Permute>>("permute"),
    fast<&with_sizes<Expand>>("expand"),
    fast<&transpose>("transpose"),
    fast<&unary<&at::t>>("t"),
    fast<&unsqueeze>("unsqueeze"),
    fast<&squeeze>("squeeze"),
    fast<&flatten>("flatten"),
    fast<&contiguous>("contiguous"),
    fast<&unary<&clone>>("clone"),
    fast<&join<&cat>>("cat"),
    fast<&join<&stack>>("stack"),
    fast<&divide<Chunk>>("chunk"),
    fast<&divide<Split>>("split"),
};

}  // namespace

std::span<const FastOp> shape_ops() { return kOps; }

}  // namespace rtrain::engine::fast
