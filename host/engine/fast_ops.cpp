#include "host/engine/fast_ops.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/t.h>
#include <ATen/ops/tanh.h>
#include <c10/util/Exception.h>

#include "host/engine/call.h"
#include "host/engine/guard.h"
#include "host/engine/scalars.h"
#include "host/engine/sizes.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

// A typed path: returns the number of results, or kNotHere when the arguments are not the plain
// ones it takes.
constexpr int kNotHere = -1;

const at::Tensor* plain_tensor(const Vm& vm, lua_State* L, int index) {
  const at::Tensor* tensor = test_tensor(vm, L, index);
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

int push_one(Vm& vm, lua_State* L, at::Tensor result) {
  push_tensor(vm, L, std::move(result));
  return 1;
}

int push_self(lua_State* L) {
  lua_settop(L, 1);
  return 1;
}

template <auto Fn>
int unary(Vm& vm, lua_State* L, int count) {
  const at::Tensor* self = count == 1 ? plain_tensor(vm, L, 1) : nullptr;
  return self == nullptr ? kNotHere : push_one(vm, L, Fn(*self));
}

template <auto Fn>
int unary_in_place(Vm& vm, lua_State* L, int count) {
  at::Tensor* self = count == 1 ? test_tensor(vm, L, 1) : nullptr;
  if (self == nullptr || !self->defined()) return kNotHere;
  Fn(*self);
  return push_self(L);
}

template <auto Fn>
int binary(Vm& vm, lua_State* L, int count) {
  if (count != 2) return kNotHere;
  const at::Tensor* a = plain_tensor(vm, L, 1);
  const at::Tensor* b = plain_tensor(vm, L, 2);
  return a == nullptr || b == nullptr ? kNotHere : push_one(vm, L, Fn(*a, *b));
}

// Fn takes (Tensor, Tensor), a number as a wrapped one.
template <class Fn>
int arithmetic(Vm& vm, lua_State* L, int count) {
  const at::Tensor* a = count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  if (a == nullptr) return kNotHere;
  if (lua_type(L, 2) == LUA_TNUMBER)
    return push_one(vm, L, Fn::call(*a, vm.numbers.get(*to_scalar(L, 2), *a)));
  const at::Tensor* b = plain_tensor(vm, L, 2);
  return b == nullptr ? kNotHere : push_one(vm, L, Fn::call(*a, *b));
}

// Fn is overloaded on (Tensor, Tensor) and (Tensor, Scalar).
template <class Fn>
int comparison(Vm& vm, lua_State* L, int count) {
  const at::Tensor* a = count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  if (a == nullptr) return kNotHere;
  if (lua_type(L, 2) == LUA_TNUMBER) return push_one(vm, L, Fn::call(*a, *to_scalar(L, 2)));
  const at::Tensor* b = plain_tensor(vm, L, 2);
  return b == nullptr ? kNotHere : push_one(vm, L, Fn::call(*a, *b));
}

template <class Fn>
int arithmetic_in_place(Vm& vm, lua_State* L, int count) {
  at::Tensor* a = count == 2 ? test_tensor(vm, L, 1) : nullptr;
  if (a == nullptr || !a->defined()) return kNotHere;
  if (lua_type(L, 2) == LUA_TNUMBER) {
    Fn::call(*a, vm.numbers.get(*to_scalar(L, 2), *a));
    return push_self(L);
  }
  const at::Tensor* b = plain_tensor(vm, L, 2);
  if (b == nullptr) return kNotHere;
  Fn::call(*a, *b);
  return push_self(L);
}

struct Add {
  static at::Tensor call(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
};
struct Sub {
  static at::Tensor call(const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }
};
struct Mul {
  static at::Tensor call(const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }
};
struct Div {
  static at::Tensor call(const at::Tensor& a, const at::Tensor& b) { return at::div(a, b); }
};
struct Eq {
  static at::Tensor call(const at::Tensor& a, const auto& b) { return at::eq(a, b); }
};
struct Ne {
  static at::Tensor call(const at::Tensor& a, const auto& b) { return at::ne(a, b); }
};
struct Lt {
  static at::Tensor call(const at::Tensor& a, const auto& b) { return at::lt(a, b); }
};
struct Le {
  static at::Tensor call(const at::Tensor& a, const auto& b) { return at::le(a, b); }
};
struct Gt {
  static at::Tensor call(const at::Tensor& a, const auto& b) { return at::gt(a, b); }
};
struct Ge {
  static at::Tensor call(const at::Tensor& a, const auto& b) { return at::ge(a, b); }
};
struct AddInPlace {
  static void call(at::Tensor& a, const at::Tensor& b) { a.add_(b); }
};
struct SubInPlace {
  static void call(at::Tensor& a, const at::Tensor& b) { a.sub_(b); }
};
struct MulInPlace {
  static void call(at::Tensor& a, const at::Tensor& b) { a.mul_(b); }
};
struct DivInPlace {
  static void call(at::Tensor& a, const at::Tensor& b) { a.div_(b); }
};

at::Tensor sum_all(const at::Tensor& self) { return at::sum(self); }
at::Tensor mean_all(const at::Tensor& self) { return at::mean(self); }
void zero_in_place(at::Tensor& self) { self.zero_(); }
void relu_in_place(at::Tensor& self) { self.relu_(); }

int linear(Vm& vm, lua_State* L, int count) {
  if (count != 2 && count != 3) return kNotHere;
  const at::Tensor* x = plain_tensor(vm, L, 1);
  const at::Tensor* w = plain_tensor(vm, L, 2);
  if (x == nullptr || w == nullptr) return kNotHere;
  if (count == 2 || lua_isnil(L, 3)) return push_one(vm, L, at::linear(*x, *w));
  const at::Tensor* b = plain_tensor(vm, L, 3);
  return b == nullptr ? kNotHere : push_one(vm, L, at::linear(*x, *w, *b));
}

int copy_in_place(Vm& vm, lua_State* L, int count) {
  at::Tensor* a = count == 2 ? test_tensor(vm, L, 1) : nullptr;
  const at::Tensor* b = count == 2 ? plain_tensor(vm, L, 2) : nullptr;
  if (a == nullptr || b == nullptr || !a->defined()) return kNotHere;
  a->copy_(*b);
  return push_self(L);
}

template <class Fn>
int with_sizes(Vm& vm, lua_State* L, int count) {
  const at::Tensor* self = count >= 2 ? plain_tensor(vm, L, 1) : nullptr;
  Sizes sizes;
  if (self == nullptr || !read_sizes(L, 2, count, sizes)) return kNotHere;
  return push_one(vm, L, Fn::call(*self, sizes));
}

struct View {
  static at::Tensor call(const at::Tensor& x, at::IntArrayRef s) { return x.view(s); }
};
struct Reshape {
  static at::Tensor call(const at::Tensor& x, at::IntArrayRef s) { return x.reshape(s); }
};
struct Permute {
  static at::Tensor call(const at::Tensor& x, at::IntArrayRef s) { return x.permute(s); }
};
struct Expand {
  static at::Tensor call(const at::Tensor& x, at::IntArrayRef s) { return x.expand(s); }
};

int transpose(Vm& vm, lua_State* L, int count) {
  const at::Tensor* self = count == 3 ? plain_tensor(vm, L, 1) : nullptr;
  Sizes dims;
  if (self == nullptr || !read_sizes(L, 2, count, dims) || dims.size() != 2) return kNotHere;
  return push_one(vm, L, self->transpose(dims[0], dims[1]));
}

int unsqueeze(Vm& vm, lua_State* L, int count) {
  const at::Tensor* self = count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  const auto dim = self == nullptr ? std::nullopt : to_int(L, 2);
  return dim ? push_one(vm, L, self->unsqueeze(*dim)) : kNotHere;
}

template <auto Try>
int fast_op(lua_State* L) {
  Op& op = *static_cast<Op*>(lua_touserdata(L, lua_upvalueindex(1)));
  const int count = lua_gettop(L);
  try {
    const int results = Try(vm(L), L, count);
    if (results != kNotHere) return results;
  } catch (const c10::OutOfMemoryError& e) {
    if (op.family->overloads[0].is_mutable)
      throw operator_error(op.family->name, e, describe_stack(L, count));
    lua_settop(L, count);  // the boxed call collects garbage and tries again
  } catch (const c10::Error& e) {
    throw operator_error(op.family->name, e, describe_stack(L, count));
  }
  return call_op(L, op);
}

struct FastOp {
  std::string_view name;
  lua_CFunction function;
};

template <auto Try>
constexpr FastOp fast(std::string_view name) {
  return {name, &guarded<&fast_op<Try>, TorchTranslate>};
}

// These have several forms in C++: the plain one gets a name.
at::Tensor mm(const at::Tensor& a, const at::Tensor& b) { return at::mm(a, b); }
at::Tensor bmm(const at::Tensor& a, const at::Tensor& b) { return at::bmm(a, b); }

constexpr FastOp kFastOps[] = {
    fast<&binary<&mm>>("mm"),
    fast<&arithmetic<Add>>("add"),
    fast<&arithmetic<Sub>>("sub"),
    fast<&arithmetic<Mul>>("mul"),
    fast<&arithmetic<Div>>("div"),
    fast<&comparison<Eq>>("eq"),
    fast<&comparison<Ne>>("ne"),
    fast<&comparison<Lt>>("lt"),
    fast<&comparison<Le>>("le"),
    fast<&comparison<Gt>>("gt"),
    fast<&comparison<Ge>>("ge"),
    fast<&arithmetic_in_place<AddInPlace>>("add_"),
    fast<&arithmetic_in_place<SubInPlace>>("sub_"),
    fast<&arithmetic_in_place<MulInPlace>>("mul_"),
    fast<&arithmetic_in_place<DivInPlace>>("div_"),
    fast<&binary<&at::matmul>>("matmul"),
    fast<&binary<&bmm>>("bmm"),
    fast<&linear>("linear"),
    fast<&unary<&at::relu>>("relu"),
    fast<&unary<&at::neg>>("neg"),
    fast<&unary<&at::abs>>("abs"),
    fast<&unary<&at::exp>>("exp"),
    fast<&unary<&at::log>>("log"),
    fast<&unary<&at::sqrt>>("sqrt"),
    fast<&unary<&at::sigmoid>>("sigmoid"),
    fast<&unary<&at::tanh>>("tanh"),
    fast<&unary<&at::t>>("t"),
    fast<&unary<&sum_all>>("sum"),
    fast<&unary<&mean_all>>("mean"),
    fast<&unary_in_place<&zero_in_place>>("zero_"),
    fast<&unary_in_place<&relu_in_place>>("relu_"),
    fast<&copy_in_place>("copy_"),
    fast<&with_sizes<View>>("view"),
    fast<&with_sizes<Reshape>>("reshape"),
    fast<&with_sizes<Permute>>("permute"),
    fast<&with_sizes<Expand>>("expand"),
    fast<&transpose>("transpose"),
    fast<&unsqueeze>("unsqueeze"),
};

}  // namespace

lua_CFunction find_fast_op(std::string_view name) {
  for (const FastOp& op : kFastOps) {
    if (op.name == name) return op.function;
  }
  return nullptr;
}

}  // namespace rtrain
