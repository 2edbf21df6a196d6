// host/engine/operators/fast/fast_op.h: building blocks of fast paths.
//
// A fast path accepts the plain forms of an operator's arguments (positions, at most one keyword),
// makes LibTorch's typed call and pushes the results. For other arguments it returns kNotHere with
// the stack unchanged; then the boxed call follows, which also reports wrong arguments.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "host/engine/memory/history_frames.h"
#include "host/engine/memory/out_of_memory.h"
#include "host/engine/operators/boxed/call.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/negative_zero.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/sizes.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine::fast {

inline constexpr int kNotHere = -1;

inline const at::Tensor* plain_tensor(const Vm& vm, lua_State* L, int index) {
  const at::Tensor* tensor = test_tensor(vm, L, index);
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

inline int push_one(Vm& vm, lua_State* L, at::Tensor result) {
  push_tensor(vm, L, std::move(result));
  return 1;
}

inline int push_self(lua_State* L) {
  lua_settop(L, 1);
  return 1;
}

inline int push_list(Vm& vm, lua_State* L, std::vector<at::Tensor>&& list) {
  lua_createtable(L, static_cast<int>(list.size()), 0);
  for (size_t i = 0; i < list.size(); ++i) {
    push_tensor(vm, L, std::move(list[i]));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

// Pushes the keyword's value if the table holds only that keyword.
inline bool push_only_keyword(lua_State* L, int table, std::string_view name) {
  if (lua_type(L, table) != LUA_TTABLE) return false;
  lua_pushnil(L);
  if (lua_next(L, table) == 0) return false;
  if (lua_type(L, -2) != LUA_TSTRING || name != lua_tostring(L, -2)) {
    lua_pop(L, 2);
    return false;
  }
  lua_pushvalue(L, -2);
  if (lua_next(L, table) == 0) return true;  // has popped its key: keyword and value remain
  lua_pop(L, 4);
  return false;
}

// A boolean, by position or as the only keyword.
inline std::optional<bool> bool_or_keyword(lua_State* L, int index, std::string_view name) {
  if (lua_type(L, index) == LUA_TBOOLEAN) return lua_toboolean(L, index) != 0;
  if (!push_only_keyword(L, index, name)) return std::nullopt;
  const bool is_bool = lua_type(L, -1) == LUA_TBOOLEAN;
  const bool value = lua_toboolean(L, -1) != 0;
  lua_pop(L, 2);
  return is_bool ? std::optional(value) : std::nullopt;
}

// A Lua number except -0.0, which depends on the other operand and is left to the general path.
inline std::optional<at::Scalar> plain_number(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TNUMBER || is_negative_zero(lua_tonumber(L, index)))
    return std::nullopt;
  return to_scalar(L, index);
}

// A plain number as the only keyword.
inline std::optional<at::Scalar> scalar_keyword(lua_State* L, int index, std::string_view name) {
  if (!push_only_keyword(L, index, name)) return std::nullopt;
  const auto value = plain_number(L, -1);
  lua_pop(L, 2);
  return value;
}

inline std::optional<int64_t> plain_int(lua_State* L, int index) {
  return lua_type(L, index) == LUA_TNUMBER ? to_int(L, index) : std::nullopt;
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

// The C function of a fast path. Its upvalue is the Op.
template <auto Try>
int fast_op(lua_State* L) {
  Op& op = *static_cast<Op*>(lua_touserdata(L, lua_upvalueindex(1)));
  const int count = lua_gettop(L);
  const LineRange line(L);
  const FrameScope frames(L);
  std::optional<OutOfMemory> failure;
  try {
    const int results = Try(vm(L), L, count);
    if (results != kNotHere) return results;
  } catch (const c10::OutOfMemoryError& e) {
    failure = OutOfMemory(e);
  } catch (const c10::Error& e) {
    throw operator_error(op.family->name, e, describe_stack(L, count));
  }
  if (failure && op.family->overloads[0].is_mutable) {
    throw out_of_memory_error(L, *failure, op.family->name, describe_stack(L, count));
  }
  lua_settop(L, count);
  return call_op(L, op);  // collects garbage and retries
}

struct FastOp {
  std::string_view name;
  lua_CFunction function;
};

template <auto Try>
constexpr FastOp fast(std::string_view name) {
  return {name, &lua::guarded<&fast_op<Try>, TorchTranslate>};
}

// Defined in one file each.
std::span<const FastOp> arithmetic_ops();
std::span<const FastOp> creation_ops();
std::span<const FastOp> layer_ops();
std::span<const FastOp> reduction_ops();
std::span<const FastOp> selection_ops();
std::span<const FastOp> shape_ops();

}  // namespace rtrain::engine::fast
