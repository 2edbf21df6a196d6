// Reductions over all elements, or along dimensions with or without keepdim.
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/min.h>
#include <ATen/ops/sum.h>

#include "host/engine/operators/fast/fast_op.h"
#include "host/engine/tensor/named_results.h"

namespace rtrain::engine::fast {
namespace {

using at::Tensor;

// Reads keepdim, argument 3; false if there are fewer arguments.
std::optional<bool> keepdim(lua_State* L, int count) {
  return count == 3 ? bool_or_keyword(L, 3, "keepdim") : std::optional(false);
}

template <class Fn>
int reduce(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count >= 1 && count <= 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  if (count == 1) return push_one(vm, L, Fn::all(*self));
  Sizes dims;
  if (!read_sizes(L, 2, 2, dims) || dims.empty()) return kNotHere;
  const auto keep = keepdim(L, count);
  return keep ? push_one(vm, L, Fn::along(*self, dims, *keep)) : kNotHere;
}

struct Sum {
  static Tensor all(const Tensor& x) { return at::sum(x); }
  static Tensor along(const Tensor& x, at::IntArrayRef dims, bool keep) {
    return at::sum(x, dims, keep);
  }
};
struct Mean {
  static Tensor all(const Tensor& x) { return at::mean(x); }
  static Tensor along(const Tensor& x, at::IntArrayRef dims, bool keep) {
    return at::mean(x, dims, keep);
  }
};

// max or min: the value, and along a dimension its index too.
template <class Fn>
int extreme(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count >= 1 && count <= 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  if (count == 1) return push_one(vm, L, Fn::all(*self));
  const auto dim = plain_int(L, 2);
  const auto keep = dim ? keepdim(L, count) : std::nullopt;
  if (!keep) return kNotHere;
  auto [values, indices] = Fn::along(*self, *dim, *keep);
  push_tensor(vm, L, std::move(values));
  push_tensor(vm, L, std::move(indices));
  name_results(L, {"values", "indices"});
  return 2;
}

struct Max {
  static Tensor all(const Tensor& x) { return at::max(x); }
  static auto along(const Tensor& x, int64_t dim, bool keep) { return at::max(x, dim, keep); }
};
struct Min {
  static Tensor all(const Tensor& x) { return at::min(x); }
  static auto along(const Tensor& x, int64_t dim, bool keep) { return at::min(x, dim, keep); }
};

template <auto Fn>
int place(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count >= 1 && count <= 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  if (count == 1) return push_one(vm, L, Fn(*self, std::nullopt, false));
  const auto dim = plain_int(L, 2);
  const auto keep = dim ? keepdim(L, count) : std::nullopt;
  return keep ? push_one(vm, L, Fn(*self, dim, *keep)) : kNotHere;
}

constexpr FastOp kOps[] = {
    fast<&reduce<Sum>>("sum"),           fast<&reduce<Mean>>("mean"),
    fast<&extreme<Max>>("max"),          fast<&extreme<Min>>("min"),
    fast<&place<&at::argmax>>("argmax"), fast<&place<&at::argmin>>("argmin"),
};

}  // namespace

std::span<const FastOp> reduction_ops() { return kOps; }

}  // namespace rtrain::engine::fast
