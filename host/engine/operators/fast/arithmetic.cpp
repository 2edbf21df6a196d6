// Elementwise arithmetic and comparison, and matrix products.
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/div.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>

#include "host/engine/operators/fast/fast_op.h"

namespace rtrain::engine::fast {
namespace {

using at::Tensor;

// Fn takes (Tensor, Tensor). A number is passed as a wrapped number.
template <class Fn>
int arithmetic(Vm& vm, lua_State* L, int count) {
  const Tensor* a = count >= 2 ? plain_tensor(vm, L, 1) : nullptr;
  if (a == nullptr) return kNotHere;
  if (count == 2 && lua_type(L, 2) == LUA_TNUMBER)
    return push_one(vm, L, Fn::call(*a, vm.numbers.get(*to_scalar(L, 2), *a)));
  const Tensor* b = plain_tensor(vm, L, 2);
  if (b == nullptr) return kNotHere;
  if (count == 2) return push_one(vm, L, Fn::call(*a, *b));
  if constexpr (Fn::kHasAlpha) {
    const auto alpha = count == 3 ? scalar_keyword(L, 3, "alpha") : std::nullopt;
    if (alpha) return push_one(vm, L, Fn::call(*a, *b, *alpha));
  }
  return kNotHere;
}

template <class Fn>
int arithmetic_in_place(Vm& vm, lua_State* L, int count) {
  Tensor* a = count >= 2 ? test_tensor(vm, L, 1) : nullptr;
  if (a == nullptr || !a->defined()) return kNotHere;
  if (count == 2 && lua_type(L, 2) == LUA_TNUMBER) {
    Fn::call_(*a, vm.numbers.get(*to_scalar(L, 2), *a));
    return push_self(L);
  }
  const Tensor* b = plain_tensor(vm, L, 2);
  if (b == nullptr) return kNotHere;
  if (count == 2) {
    Fn::call_(*a, *b);
    return push_self(L);
  }
  if constexpr (Fn::kHasAlpha) {
    const auto alpha = count == 3 ? scalar_keyword(L, 3, "alpha") : std::nullopt;
    if (!alpha) return kNotHere;
    Fn::call_(*a, *b, *alpha);
    return push_self(L);
  }
  return kNotHere;
}

struct Add {
  static constexpr bool kHasAlpha = true;
  static Tensor call(const Tensor& a, const Tensor& b, const at::Scalar& alpha = 1) {
    return at::add(a, b, alpha);
  }
  static void call_(Tensor& a, const Tensor& b, const at::Scalar& alpha = 1) { a.add_(b, alpha); }
};
struct Sub {
  static constexpr bool kHasAlpha = true;
  static Tensor call(const Tensor& a, const Tensor& b, const at::Scalar& alpha = 1) {
    return at::sub(a, b, alpha);
  }
  static void call_(Tensor& a, const Tensor& b, const at::Scalar& alpha = 1) { a.sub_(b, alpha); }
};
struct Mul {
  static constexpr bool kHasAlpha = false;
  static Tensor call(const Tensor& a, const Tensor& b) { return at::mul(a, b); }
  static void call_(Tensor& a, const Tensor& b) { a.mul_(b); }
};
struct Div {
  static constexpr bool kHasAlpha = false;
  static Tensor call(const Tensor& a, const Tensor& b) { return at::div(a, b); }
  static void call_(Tensor& a, const Tensor& b) { a.div_(b); }
};

// Fn is overloaded on (Tensor, Tensor) and (Tensor, Scalar).
template <class Fn>
int comparison(Vm& vm, lua_State* L, int count) {
  const Tensor* a = count == 2 ? plain_tensor(vm, L, 1) : nullptr;
  if (a == nullptr) return kNotHere;
  if (const auto number = plain_number(L, 2)) return push_one(vm, L, Fn::call(*a, *number));
  const Tensor* b = plain_tensor(vm, L, 2);
  return b == nullptr ? kNotHere : push_one(vm, L, Fn::call(*a, *b));
}

struct Eq {
  static Tensor call(const Tensor& a, const auto& b) { return at::eq(a, b); }
};
struct Ne {
  static Tensor call(const Tensor& a, const auto& b) { return at::ne(a, b); }
};
struct Lt {
  static Tensor call(const Tensor& a, const auto& b) { return at::lt(a, b); }
};
struct Le {
  static Tensor call(const Tensor& a, const auto& b) { return at::le(a, b); }
};
struct Gt {
  static Tensor call(const Tensor& a, const auto& b) { return at::gt(a, b); }
};
struct Ge {
  static Tensor call(const Tensor& a, const auto& b) { return at::ge(a, b); }
};
struct Pow {
  static Tensor call(const Tensor& a, const auto& b) { return at::pow(a, b); }
};

int clamp(Vm& vm, lua_State* L, int count) {
  const Tensor* self = count == 3 ? plain_tensor(vm, L, 1) : nullptr;
  if (self == nullptr) return kNotHere;
  const auto low = plain_number(L, 2);
  const auto high = plain_number(L, 3);
  return low && high ? push_one(vm, L, at::clamp(*self, low, high)) : kNotHere;
}

int addmm(Vm& vm, lua_State* L, int count) {
  if (count != 3) return kNotHere;
  const Tensor* self = plain_tensor(vm, L, 1);
  const Tensor* a = plain_tensor(vm, L, 2);
  const Tensor* b = plain_tensor(vm, L, 3);
  if (self == nullptr || a == nullptr || b == nullptr) return kNotHere;
  return push_one(vm, L, at::addmm(*self, *a, *b));
}

// self += value · f(a, b)
template <auto Fn>
int add_combined_(Vm& vm, lua_State* L, int count) {
  if (count != 3 && count != 4) return kNotHere;
  Tensor* self = test_tensor(vm, L, 1);
  const Tensor* a = plain_tensor(vm, L, 2);
  const Tensor* b = plain_tensor(vm, L, 3);
  if (self == nullptr || !self->defined() || a == nullptr || b == nullptr) return kNotHere;
  const auto value = count == 3 ? at::Scalar(1) : scalar_keyword(L, 4, "value");
  if (!value) return kNotHere;
  Fn(*self, *a, *b, *value);
  return push_self(L);
}

int lerp_(Vm& vm, lua_State* L, int count) {
  Tensor* self = count == 3 ? test_tensor(vm, L, 1) : nullptr;
  const Tensor* end = count == 3 ? plain_tensor(vm, L, 2) : nullptr;
  if (self == nullptr || !self->defined() || end == nullptr) return kNotHere;
  const auto weight = plain_number(L, 3);
  if (!weight) return kNotHere;
  self->lerp_(*end, *weight);
  return push_self(L);
}

int copy_(Vm& vm, lua_State* L, int count) {
  Tensor* a = count == 2 ? test_tensor(vm, L, 1) : nullptr;
  const Tensor* b = count == 2 ? plain_tensor(vm, L, 2) : nullptr;
  if (a == nullptr || b == nullptr || !a->defined()) return kNotHere;
  a->copy_(*b);
  return push_self(L);
}

// Names the plain one of several C++ overloads.
Tensor mm(const Tensor& a, const Tensor& b) { return at::mm(a, b); }
Tensor bmm(const Tensor& a, const Tensor& b) { return at::bmm(a, b); }
void zero_(Tensor& self) { self.zero_(); }
void neg_(Tensor& self) { self.neg_(); }
void sqrt_(Tensor& self) { self.sqrt_(); }
void addcmul_(Tensor& self, const Tensor& a, const Tensor& b, const at::Scalar& value) {
  self.addcmul_(a, b, value);
}
void addcdiv_(Tensor& self, const Tensor& a, const Tensor& b, const at::Scalar& value) {
  self.addcdiv_(a, b, value);
}

constexpr FastOp kOps[] = {
    fast<&arithmetic<Add>>("add"),
    fast<&arithmetic<Sub>>("sub"),
    fast<&arithmetic<Mul>>("mul"),
    fast<&arithmetic<Div>>("div"),
    fast<&arithmetic_in_place<Add>>("add_"),
    fast<&arithmetic_in_place<Sub>>("sub_"),
    fast<&arithmetic_in_place<Mul>>("mul_"),
    fast<&arithmetic_in_place<Div>>("div_"),
    fast<&comparison<Eq>>("eq"),
    fast<&comparison<Ne>>("ne"),
    fast<&comparison<Lt>>("lt"),
    fast<&comparison<Le>>("le"),
    fast<&comparison<Gt>>("gt"),
    fast<&comparison<Ge>>("ge"),
    fast<&comparison<Pow>>("pow"),
    fast<&binary<&at::maximum>>("maximum"),
    fast<&binary<&at::minimum>>("minimum"),
    fast<&binary<&mm>>("mm"),
    fast<&binary<&bmm>>("bmm"),
    fast<&binary<&at::mv>>("mv"),
    fast<&binary<&at::dot>>("dot"),
    fast<&binary<&at::matmul>>("matmul"),
    fast<&addmm>("addmm"),
    fast<&clamp>("clamp"),
    fast<&add_combined_<&addcmul_>>("addcmul_"),
    fast<&add_combined_<&addcdiv_>>("addcdiv_"),
    fast<&lerp_>("lerp_"),
    fast<&copy_>("copy_"),
    fast<&unary_in_place<&zero_>>("zero_"),
    fast<&unary_in_place<&neg_>>("neg_"),
    fast<&unary_in_place<&sqrt_>>("sqrt_"),
    fast<&unary<&at::neg>>("neg"),
    fast<&unary<&at::abs>>("abs"),
    fast<&unary<&at::exp>>("exp"),
    fast<&unary<&at::log>>("log"),
    fast<&unary<&at::sqrt>>("sqrt"),
    fast<&unary<&at::rsqrt>>("rsqrt"),
    fast<&unary<&at::square>>("square"),
    fast<&unary<&at::reciprocal>>("reciprocal"),
    fast<&unary<&at::sin>>("sin"),
    fast<&unary<&at::cos>>("cos"),
};

}  // namespace

std::span<const FastOp> arithmetic_ops() { return kOps; }

}  // namespace rtrain::engine::fast
