// Selection of elements by index or mask.
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/where.h>

#include "host/engine/operators/fast/fast_op.h"

namespace rtrain::engine::fast {
namespace {

using at::Tensor;

// (self, dim, index)
template <auto Fn>
int along_dim(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  const auto dim = plain_int(L, 2);
  const Tensor* index = plain_tensor(vm, L, 3);
  return dim && index != nullptr ? push_one(vm, L, Fn(*self, *dim, *index)) : kNotHere;
}

int narrow(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 4 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  const auto dim = plain_int(L, 2);
  const auto start = plain_int(L, 3);
  const auto length = plain_int(L, 4);
  return dim && start && length ? push_one(vm, L, self->narrow(*dim, *start, *length)) : kNotHere;
}

int where(Vm& vm, lua_State* L, int count) {
  if (count != 3) return kNotHere;
  const Tensor* condition = plain_tensor(vm, L, 1);
  const Tensor* a = plain_tensor(vm, L, 2);
  const Tensor* b = plain_tensor(vm, L, 3);
  if (condition == nullptr || a == nullptr || b == nullptr) return kNotHere;
  return push_one(vm, L, at::where(*condition, *a, *b));
}

int masked_fill(Vm& vm, lua_State* L, int count) {
  if (count != 3) return kNotHere;
  const Tensor* self = plain_tensor(vm, L, 1);
  const Tensor* mask = plain_tensor(vm, L, 2);
  const auto value = plain_number(L, 3);
  if (self == nullptr || mask == nullptr || !value) return kNotHere;
  return push_one(vm, L, at::masked_fill(*self, *mask, *value));
}

// Names the plain one of several C++ overloads.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  return at::gather(x, dim, index);
}
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  return at::index_select(x, dim, index);
}

constexpr FastOp kOps[] = {
    fast<&along_dim<&gather>>("gather"),
    fast<&along_dim<&index_select>>("index_select"),
    fast<&narrow>("narrow"),
    fast<&where>("where"),
    fast<&masked_fill>("masked_fill"),
};

}  // namespace

std::span<const FastOp> selection_ops() { return kOps; }

}  // namespace rtrain::engine::fast
