// New tensors of the default dtype: by size, like another tensor, and ranges.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "host/engine/operators/fast/fast_op.h"
#include "host/engine/runtime/default_device.h"
#include "host/engine/runtime/loader_thread.h"

namespace rtrain::engine::fast {
namespace {

using at::Tensor;

template <auto Fn>
int of_size(Vm& vm, lua_State* L, int count) {
  Sizes sizes;
  if (default_device()) return kNotHere;
  return count >= 1 && read_sizes(L, 1, count, sizes) ? push_one(vm, L, Fn(sizes)) : kNotHere;
}

// In loader threads, which must pass a generator, the general path throws the error.
template <auto Fn>
int random_of_size(Vm& vm, lua_State* L, int count) {
  return in_loader_thread() ? kNotHere : of_size<Fn>(vm, L, count);
}

// arange(end), arange(start, end), arange(start, end, step)
int arange(Vm& vm, lua_State* L, int count) {
  if (count < 1 || count > 3 || default_device()) return kNotHere;
  std::optional<at::Scalar> bounds[3];
  for (int i = 0; i < count; ++i) {
    bounds[i] = plain_number(L, i + 1);
    if (!bounds[i]) return kNotHere;
  }
  if (count == 1) return push_one(vm, L, at::arange(*bounds[0]));
  if (count == 2) return push_one(vm, L, at::arange(*bounds[0], *bounds[1]));
  return push_one(vm, L, at::arange(*bounds[0], *bounds[1], *bounds[2]));
}

// Names the plain one of several C++ overloads.
Tensor zeros(at::IntArrayRef size) { return at::zeros(size); }
Tensor ones(at::IntArrayRef size) { return at::ones(size); }
Tensor empty(at::IntArrayRef size) { return at::empty(size); }
Tensor rand(at::IntArrayRef size) { return at::rand(size); }
Tensor randn(at::IntArrayRef size) { return at::randn(size); }
Tensor zeros_like(const Tensor& x) { return at::zeros_like(x); }
Tensor ones_like(const Tensor& x) { return at::ones_like(x); }
Tensor empty_like(const Tensor& x) { return at::empty_like(x); }

constexpr FastOp kOps[] = {
    fast<&of_size<&zeros>>("zeros"),         fast<&of_size<&ones>>("ones"),
    fast<&of_size<&empty>>("empty"),         fast<&random_of_size<&rand>>("rand"),
    fast<&random_of_size<&randn>>("randn"),  fast<&arange>("arange"),
    fast<&unary<&zeros_like>>("zeros_like"), fast<&unary<&ones_like>>("ones_like"),
    fast<&unary<&empty_like>>("empty_like"),
};

}  // namespace

std::span<const FastOp> creation_ops() { return kOps; }

}  // namespace rtrain::engine::fast
