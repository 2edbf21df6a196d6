#include "host/engine/operators/operators.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sub.h>
#include <c10/util/Exception.h>

#include "host/engine/memory/retry.h"
#include "host/engine/operators/boxed/call.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/negative_zero.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using at::Scalar;
using at::Tensor;

// Each operator takes two tensors, one of which may be a wrapped number. pow and 1 / x have faster
// forms for numbers.
struct Add {
  static constexpr const char* kName = "add";
  static Tensor call(const Tensor& a, const Tensor& b) { return at::add(a, b); }
};
struct Sub {
  static constexpr const char* kName = "sub";
  static Tensor call(const Tensor& a, const Tensor& b) { return at::sub(a, b); }
};
struct Mul {
  static constexpr const char* kName = "mul";
  static Tensor call(const Tensor& a, const Tensor& b) { return at::mul(a, b); }
};
struct Div {
  static constexpr const char* kName = "div";
  static Tensor call(const Tensor& a, const Tensor& b) { return at::div(a, b); }
};
struct Remainder {
  static constexpr const char* kName = "remainder";
  static Tensor call(const Tensor& a, const Tensor& b) { return at::remainder(a, b); }
};
struct Pow {
  static constexpr const char* kName = "pow";
  static Tensor call(const auto& a, const auto& b) { return at::pow(a, b); }
};

std::string_view advice_on(lua_State* L) {
  for (const int index : {1, 2}) {
    if (lua_isnil(L, index))
      return index == 1 ? ": the left side is nil" : ": the right side is nil";
    if (lua_type(L, index) == LUA_TSTRING) return ": tonumber(text) makes a string a number";
    if (lua_type(L, index) == LUA_TTABLE) return ": torch.tensor(list) makes a list a tensor";
  }
  return "";
}

Error bad_operands(lua_State* L, const char* name) {
  return Error(Code::kArgument, cat(name, ": expected tensors or numbers, got ",
                                    describe_stack(L, 2), advice_on(L)));
}

const Tensor& defined(const Tensor& tensor, const char* name) {
  if (!tensor.defined()) throw Error(Code::kArgument, cat(name, ": this Tensor was released"));
  return tensor;
}

// Reads a number operand. Tries Lua numbers first, because nearly all operands are.
std::optional<Scalar> number(lua_State* L, int index) {
  return lua_type(L, index) == LUA_TTABLE ? std::nullopt : to_scalar(L, index);
}

template <class Operator>
Tensor apply(Vm& vm, lua_State* L) {
  const Tensor* a = test_tensor(vm, L, 1);
  const Tensor* b = test_tensor(vm, L, 2);
  if (a != nullptr && b != nullptr) {
    return Operator::call(defined(*a, Operator::kName), defined(*b, Operator::kName));
  }
  const auto scalar = number(L, a != nullptr ? 2 : 1);
  if (!scalar) throw bad_operands(L, Operator::kName);
  const Tensor& tensor = defined(a != nullptr ? *a : *b, Operator::kName);
  const Scalar value = as_operand(*scalar, c10::isIntegralType(tensor.scalar_type(), true));
  if constexpr (std::is_same_v<Operator, Pow>) {
    return a != nullptr ? Operator::call(tensor, value) : Operator::call(value, tensor);
  } else {
    if (std::is_same_v<Operator, Div> && a == nullptr) {
      // Bitwise equal to PyTorch's result.
      const Tensor reciprocal = at::reciprocal(tensor);
      return at::mul(reciprocal, vm.numbers.get(value, reciprocal));
    }
    const Tensor& wrapped = vm.numbers.get(value, tensor);
    // As in PyTorch, the tensor comes first in commutative operators: kernels of half precision
    // only keep the full precision of a number on the right.
    const bool commutes = std::is_same_v<Operator, Add> || std::is_same_v<Operator, Mul>;
    return a != nullptr || commutes ? Operator::call(tensor, wrapped)
                                    : Operator::call(wrapped, tensor);
  }
}

template <class Operator>
int binary(lua_State* L) {
  Vm& state = vm(L);
  try {
    push_tensor(L,
                with_retry(state, L, Operator::kName, [&] { return apply<Operator>(state, L); }));
  } catch (const c10::Error& e) {
    throw operator_error(Operator::kName, e, describe_stack(L, 2));
  }
  return 1;
}

int negate(lua_State* L) {
  push_tensor(L, at::neg(check_tensor(L, 1)));
  return 1;
}

template <const char* Text>
int refuse(lua_State*) {
  throw Error(Code::kArgument, Text);
}

constexpr char kUseLt[] = "tensors are compared elementwise: use x:lt(y) or x:gt(y), not x < y";
constexpr char kUseLe[] = "tensors are compared elementwise: use x:le(y) or x:ge(y), not x <= y";
constexpr char kNoConcat[] = "a Tensor cannot be concatenated with '..': use tostring(x)";

int same_tensor(lua_State* L) {
  const Tensor* a = test_tensor(L, 1);
  const Tensor* b = test_tensor(L, 2);
  lua_pushboolean(L, a != nullptr && b != nullptr && a->defined() && a->is_same(*b) ? 1 : 0);
  return 1;
}

constexpr lua::Method kOperators[] = {torch_method<&binary<Add>>("__add"),
                                      torch_method<&binary<Sub>>("__sub"),
                                      torch_method<&binary<Mul>>("__mul"),
                                      torch_method<&binary<Div>>("__div"),
                                      torch_method<&binary<Remainder>>("__mod"),
                                      torch_method<&binary<Pow>>("__pow"),
                                      torch_method<&negate>("__unm"),
                                      torch_method<&same_tensor>("__eq"),
                                      torch_method<&refuse<kUseLt>>("__lt"),
                                      torch_method<&refuse<kUseLe>>("__le"),
                                      torch_method<&refuse<kNoConcat>>("__concat")};

}  // namespace

void add_operators(lua_State* L) { lua::add_functions(L, kOperators); }

}  // namespace rtrain::engine
