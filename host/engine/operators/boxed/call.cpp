#include "host/engine/operators/boxed/call.h"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "host/engine/memory/collector.h"
#include "host/engine/memory/history_frames.h"
#include "host/engine/memory/out_of_memory.h"
#include "host/engine/operators/boxed/argument_stacks.h"
#include "host/engine/operators/boxed/arguments.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/default_device.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/loader_thread.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/named_results.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using torch::jit::Stack;

constexpr size_t kMemoSize = 16;

// The signature with PyTorch's parameter names.
std::string shown_signature(const Overload& overload) {
  constexpr std::string_view kSelf = "Tensor self";
  std::string out = overload.signature;
  const size_t at = out.find(kSelf);
  return at == std::string::npos ? out : out.replace(at, kSelf.size(), "Tensor input");
}

[[noreturn]] void no_overload(const Op& op, const Arguments& arguments) {
  const Family& family = *op.family;
  const auto& forms = arguments.has_out() ? family.with_out : family.overloads;
  if (forms.size() == 1) {
    const Overload& only = forms[0];
    throw Error(Code::kArgument,
                cat(family.name, ": ", arguments.mismatch(only), "; it is ", shown_signature(only),
                    ", called with (", arguments.given(), ")"));
  }
  std::string text = cat(family.name, ": no form of it takes (", arguments.given(), "):");
  for (const Overload& overload : forms) {
    text += cat("\n  ", shown_signature(overload), ": ", arguments.mismatch(overload));
  }
  throw Error(Code::kArgument, text);
}

// The overload that fits, with its arguments in the stack; null if none fits.
const Overload* find_overload(Op& op, const Arguments& arguments, Stack& stack) {
  const auto& overloads = op.family->overloads;
  if (arguments.has_out()) {
    const auto& forms = op.family->with_out;
    const auto found = std::ranges::find_if(
        forms, [&](const Overload& form) { return arguments.bind(form, stack); });
    return found == forms.end() ? nullptr : &*found;
  }
  if (overloads.size() == 1) return arguments.bind(overloads[0], stack) ? &overloads[0] : nullptr;
  const uint64_t key = arguments.kinds();
  for (const auto& memo : op.memo) {
    if (memo.key == key && arguments.bind(overloads[memo.overload], stack))
      return &overloads[memo.overload];
  }
  for (uint32_t i = 0; i < overloads.size(); ++i) {
    if (!arguments.bind(overloads[i], stack)) continue;
    if (op.memo.size() == kMemoSize) op.memo.clear();
    op.memo.push_back({key, i});
    return &overloads[i];
  }
  return nullptr;
}

const Overload& bind_overload(Op& op, Arguments& arguments, Stack& stack) {
  const Overload* found = find_overload(op, arguments, stack);
  if (found == nullptr && arguments.take_empty_table()) found = find_overload(op, arguments, stack);
  if (found == nullptr) no_overload(op, arguments);
  return *found;
}

// full() gives a Lua number the default dtype, while arithmetic treats an integral number as
// int64.
void apply_creation_rule(const Op& op, const Overload& overload, lua_State* L,
                         const Arguments& arguments, Stack& stack) {
  if (!overload.factory || op.family->name != "full") return;
  const int fill = arguments.keyword("fill_value") != 0 ? arguments.keyword("fill_value") : 2;
  if (lua_type(L, fill) != LUA_TNUMBER) return;
  for (size_t i = 0; i < overload.params.size(); ++i) {
    if (overload.params[i].kind == Kind::kDtype && stack[i].isNone()) {
      stack[i] = static_cast<int64_t>(c10::get_default_dtype_as_scalartype());
    }
  }
}

// Factories without tensor arguments use the default device.
void apply_default_device(const Overload& overload, c10::Device device, Stack& stack) {
  const auto is_tensor = [](const Param& param) { return param.kind == Kind::kTensor; };
  if (!overload.factory || std::ranges::any_of(overload.params, is_tensor)) return;
  for (size_t i = 0; i < overload.params.size(); ++i) {
    if (overload.params[i].kind == Kind::kDevice && stack[i].isNone()) stack[i] = device;
  }
}

void push_result(Vm& vm, lua_State* L, c10::IValue&& value, const Return& kind);

template <class List>
void push_items(Vm& vm, lua_State* L, const List& list) {
  lua_createtable(L, static_cast<int>(list.size()), 0);
  for (size_t i = 0; i < list.size(); ++i) {
    push_result(vm, L, c10::IValue(list[i]), {});
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
}

void push_result(Vm& vm, lua_State* L, c10::IValue&& value, const Return& kind) {
  if (value.isTensor()) {
    push_tensor(vm, L, std::move(value).toTensor());
  } else if (kind.is_dtype) {
    lua_pushstring(L, dtype_name(static_cast<at::ScalarType>(value.toInt())).c_str());
  } else if (value.isNone()) {
    lua_pushnil(L);
  } else if (value.isBool()) {
    lua_pushboolean(L, value.toBool() ? 1 : 0);
  } else if (value.isScalar()) {
    push_scalar(L, value.toScalar());
  } else if (value.isList()) {
    push_items(vm, L, value.toListRef());
  } else if (value.isString()) {
    lua_pushstring(L, value.toStringRef().c_str());
  } else if (value.isDevice()) {
    lua_pushstring(L, value.toDevice().str().c_str());
  } else {
    throw Error(Code::kUnsupported,
                cat("a result of type ", value.tagKind(), " has no form in Lua"));
  }
}

int push_results(Vm& vm, lua_State* L, const Overload& overload, const Arguments& arguments,
                 Stack& stack, bool requires_grad) {
  const int count = static_cast<int>(stack.size());
  luaL_checkstack(L, count + 8, "too many results");
  for (int i = 0; i < count; ++i) {
    const Return& kind = overload.returns[static_cast<size_t>(i)];
    const int given =
        kind.same_as < 0 ? 0 : arguments.index_of(overload, static_cast<size_t>(kind.same_as));
    c10::IValue& value = stack[static_cast<size_t>(i)];
    const at::Tensor* written = given > 0 ? test_tensor(vm, L, given) : nullptr;
    if (written != nullptr && value.isTensor() && written->is_same(value.toTensor())) {
      lua_pushvalue(L, given);
    } else {
      push_result(vm, L, std::move(value), kind);
    }
    if (requires_grad) test_tensor(vm, L, -1)->set_requires_grad(true);
  }
  if (count > 1) name_results(L, overload.op.schema());
  return count;
}

void check_safety(const Op& op, const Overload& overload, const Arguments& arguments,
                  const Stack& stack) {
  try {
    if (overload.outs == 0) return op.family->check(stack);
    op.family->check(Stack(stack.begin(), stack.end() - static_cast<int64_t>(overload.outs)));
  } catch (const Error& e) {
    throw operator_error(op.family->name, e, arguments.describe(overload));
  }
}

// Whether the call draws from the default generator: no other one was passed, and the arguments do
// not turn randomness off (dropout with train = false or p = 0).
bool draws_from_default(const Overload& overload, const Stack& stack) {
  for (size_t i = 0; i < overload.params.size() && i < stack.size(); ++i) {
    const Param& param = overload.params[i];
    const c10::IValue& value = stack[i];
    if (param.kind == Kind::kGenerator && !value.isNone()) return false;
    const bool is_switch = param.name == "train" || param.name == "training";
    if (is_switch && value.isBool() && !value.toBool()) return false;
    const bool is_rate = param.name == "p" || param.name == "dropout" || param.name == "dropout_p";
    if (is_rate && value.isDouble() && value.toDouble() == 0) return false;
  }
  return true;
}

// Returns nullopt on success, LibTorch's error if it ran out of memory.
std::optional<OutOfMemory> try_call(const Op& op, const Overload& overload,
                                    const Arguments& arguments, Stack& stack) {
  if (op.family->check != nullptr) check_safety(op, overload, arguments, stack);
  if (overload.is_random && in_loader_thread() && draws_from_default(overload, stack)) {
    refuse_in_loader_thread(op.family->name);
  }
  try {
    overload.op.callBoxed(stack);
    return std::nullopt;
  } catch (const c10::OutOfMemoryError& e) {
    return OutOfMemory(e);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw operator_error(op.family->name, e, arguments.describe(overload));
  }
}

// The same for an operator that writes to its arguments and therefore is never retried.
std::optional<OutOfMemory> try_only_call(Vm& vm, lua_State* L, const Op& op,
                                         const Overload& overload, const Arguments& arguments,
                                         Stack& stack) {
  const CollectableCall call(vm, L);
  return try_call(op, overload, arguments, stack);
}

bool take_requires_grad(const Op& op, lua_State* L, Arguments& arguments) {
  const int index = arguments.keyword("requires_grad");
  if (index == 0 || !op.family->overloads[0].factory) return false;
  arguments.drop_keyword("requires_grad");
  return lua_toboolean(L, index) != 0;
}

void check_option_of_out(const Op& op, const char* option, const std::string& given,
                         const std::string& own) {
  if (given == own) return;
  throw Error(Code::kArgument, cat(op.family->name, ": ", option, " = '", given,
                                   "' does not match that of out, '", own, "'"));
}

// A factory operator with `out` takes dtype, layout and device from `out`. If they are given too,
// they must agree.
void take_options_of_out(const Op& op, lua_State* L, Arguments& arguments, const at::Tensor& out) {
  const auto take = [&](const char* option, const std::string& own, auto name_of) {
    const int index = arguments.keyword(option);
    if (index == 0) return;
    arguments.drop_keyword(option);
    if (!arguments.is_none(index)) check_option_of_out(op, option, name_of(index), own);
  };
  take("dtype", dtype_name(out.scalar_type()),
       [&](int index) { return dtype_name(check_dtype(L, index, "out: dtype")); });
  take("layout", layout_name(out.layout()),
       [&](int index) { return std::string(check_text(L, index, "out: layout")); });
  take("device", out.device().str(), [&](int index) {
    const c10::Device device = check_device(L, index, "out: device");
    const bool is_any = device.type() == out.device().type() && !device.has_index();
    return is_any ? out.device().str() : device.str();
  });
  arguments.drop_keyword("pin_memory");
}

void take_out(const Op& op, Vm& vm, lua_State* L, Arguments& arguments) {
  const Family& family = *op.family;
  if (family.with_out.empty() || !arguments.take_out()) return;
  if (std::ranges::none_of(family.overloads, &Overload::factory)) return;
  const at::Tensor* out = test_tensor(vm, L, arguments.out());
  if (out != nullptr && out->defined()) take_options_of_out(op, L, arguments, *out);
}

// LibTorch's errors for floating-point class indices or positions name C++ dtypes. Adds advice for
// users.
std::string integer_advice(std::string_view message) {
  for (const std::string_view mark :
       {"expected scalar type Long but found", "expected target dtype to be Long or Byte, but got",
        "scalar types: Long, Int; but got", "Expected dtype int32/int64 for index",
        "Expected dtype int32 or int64 for index", "index tensor of type LongTensor"}) {
    if (message.find(mark) == message.npos) continue;
    return ": classes and indices are int64: make them so with :long(), or with {dtype = 'int64'} "
           "where they are made";
  }
  return "";
}

}  // namespace

Error operator_error(const std::string& name, const std::exception& e,
                     const std::string& arguments) {
  Error error = TorchTranslate::from(e);
  // An exception that is not an Error of rtrain comes from a kernel, which cannot handle the
  // arguments.
  const bool is_ours = dynamic_cast<const Error*>(&e) != nullptr;
  if (error.code() == Code::kInternal && !is_ours) error = Error(Code::kArgument, error.message());
  const std::string detail = arguments.empty() ? "" : cat(" (", arguments, ")");
  // Some kernels' messages already begin with the operator's name.
  const std::string prefix = error.message().starts_with(name + ":") ? "" : name + ": ";
  return Error(error.code(), cat(prefix, error.message(), detail, integer_advice(error.message())));
}

Op* find_op(Vm& vm, const std::string& name) {
  auto& slot = vm.ops[name];
  if (slot == nullptr) {
    const Family* family = find_family(name);
    if (family == nullptr) {
      vm.ops.erase(name);
      return nullptr;
    }
    slot = std::make_shared<Op>();
    slot->family = family;
  }
  return slot.get();
}

int call_op(lua_State* L, Op& op) {
  Vm& state = vm(L);
  Arguments arguments(state, L);
  const bool requires_grad = take_requires_grad(op, L, arguments);
  take_out(op, state, L, arguments);
  StackLease stack(*state.stacks);
  for (bool may_retry : {true, false}) {
    const Overload& overload = bind_overload(op, arguments, *stack);
    apply_creation_rule(op, overload, L, arguments, *stack);
    if (default_device()) apply_default_device(overload, *default_device(), *stack);
    const bool is_final = overload.is_mutable || !may_retry;
    const auto failure = is_final ? try_only_call(state, L, op, overload, arguments, *stack)
                                  : try_call(op, overload, arguments, *stack);
    if (!failure) return push_results(state, L, overload, arguments, *stack, requires_grad);
    stack->clear();
    if (is_final || !collect_all(state, L)) {
      throw out_of_memory_error(L, *failure, op.family->name, arguments.describe(overload));
    }
  }
  return 0;
}

std::string overload_name(lua_State* L, Op& op) {
  Arguments arguments(vm(L), L);
  take_requires_grad(op, L, arguments);
  StackLease stack(*vm(L).stacks);
  const auto& name = bind_overload(op, arguments, *stack).op.operator_name();
  return cat(op.family->name, ".", name.overload_name);
}

}  // namespace rtrain::engine
