#include "host/engine/profiler/call_trace.h"

#include "host/base/error.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/guard.h"

namespace rtrain::engine {
namespace {

thread_local CallTracer* current = nullptr;

struct Context : at::ObserverContext {
  TracedCall* call = nullptr;
};

double number_of(const void* address) {
  return static_cast<double>(reinterpret_cast<uintptr_t>(address));
}

// Pushes values of a trace to Lua. The table of tensors already pushed is at `tensors_`.
class Pusher {
 public:
  explicit Pusher(lua_State* L) : L_(L) {
    lua_newtable(L);
    tensors_ = lua_gettop(L);
  }

  void push(const TracedCalls& calls) {
    luaL_checkstack(L_, 16, "calls within calls");
    lua_createtable(L_, static_cast<int>(calls.size()), 0);
    int at = 0;
    for (const auto& call : calls) {
      push(*call);
      lua_rawseti(L_, -2, ++at);
    }
  }

 private:
  void set(const char* name, const std::string& text) {
    lua_pushlstring(L_, text.data(), text.size());
    lua_setfield(L_, -2, name);
  }

  void push(const TracedCall& call) {
    lua_createtable(L_, 0, 8);
    set("name", call.schema.name());
    set("overload", call.schema.overload_name());
    if (!call.line.empty()) set("line", call.line);
    if (!call.module.empty()) set("module", call.module);
    push_arguments(call);
    lua_setfield(L_, -2, "arguments");
    push_writes(call);
    lua_setfield(L_, -2, "writes");
    push_items(call.results);
    lua_setfield(L_, -2, "results");
    push(call.calls);
    lua_setfield(L_, -2, "calls");
  }

  void push_arguments(const TracedCall& call) {
    lua_newtable(L_);
    const auto& declared = call.schema.arguments();
    for (size_t i = 0; i < declared.size() && i < call.arguments.size(); ++i) {
      push(call.arguments[i], declared[i].real_type().get());
      lua_setfield(L_, -2, declared[i].name().c_str());
    }
  }

  void push_writes(const TracedCall& call) {
    lua_newtable(L_);
    int at = 0;
    for (const auto& argument : call.schema.arguments()) {
      if (argument.alias_info() == nullptr || !argument.alias_info()->isWrite()) continue;
      lua_pushlstring(L_, argument.name().data(), argument.name().size());
      lua_rawseti(L_, -2, ++at);
    }
  }

  void push(const at::Tensor& tensor) {
    if (!tensor.defined()) return lua_pushnil(L_);
    const double id = tensor_identity(tensor);
    lua_pushnumber(L_, id);
    lua_rawget(L_, tensors_);
    if (!lua_isnil(L_, -1)) return;
    lua_pop(L_, 1);
    lua_createtable(L_, 0, 3);
    lua_pushnumber(L_, id);
    lua_setfield(L_, -2, "id");
    lua_pushnumber(L_, storage_identity(tensor));
    lua_setfield(L_, -2, "storage");
    push_tensor(L_, tensor);
    lua_setfield(L_, -2, "tensor");
    lua_pushnumber(L_, id);
    lua_pushvalue(L_, -2);
    lua_rawset(L_, tensors_);
  }

  static bool is_dtype(const c10::Type* type) {
    if (type == nullptr) return false;
    if (const auto* optional = type->castRaw<c10::OptionalType>()) {
      return is_dtype(optional->getElementType().get());
    }
    return type->kind() == c10::TypeKind::ScalarTypeType;
  }

  void push(const c10::IValue& value, const c10::Type* type) {
    if (value.isTensor()) {
      push(value.toTensor());
    } else if (value.isBool()) {
      lua_pushboolean(L_, value.toBool() ? 1 : 0);
    } else if (value.isInt() && is_dtype(type)) {
      const std::string name = dtype_name(static_cast<at::ScalarType>(value.toInt()));
      lua_pushlstring(L_, name.data(), name.size());
    } else if (value.isInt()) {
      lua_pushnumber(L_, static_cast<double>(value.toInt()));
    } else if (value.isScalar()) {
      push_scalar(L_, value.toScalar());
    } else if (value.isList()) {
      push_items(value.toListRef());
    } else if (value.isString()) {
      lua_pushlstring(L_, value.toStringRef().data(), value.toStringRef().size());
    } else if (value.isDevice()) {
      lua_pushstring(L_, value.toDevice().str().c_str());
    } else {
      lua_pushnil(L_);  // None; generators and similar values have no meaning in a graph
    }
  }

  // None (an optional tensor or a result that was not computed) becomes false, so that positions
  // are kept.
  void push_items(c10::ArrayRef<c10::IValue> items) {
    lua_createtable(L_, static_cast<int>(items.size()), 0);
    for (size_t i = 0; i < items.size(); ++i) {
      push(items[i], nullptr);
      if (lua_isnil(L_, -1)) {
        lua_pop(L_, 1);
        lua_pushboolean(L_, 0);
      }
      lua_rawseti(L_, -2, static_cast<int>(i) + 1);
    }
  }

  lua_State* L_;
  int tensors_;
};

}  // namespace

CallTracer::CallTracer(lua_State* L, lua::Ref where, TracedCalls& calls)
    : L_(L), where_(std::move(where)), calls_(calls) {
  if (current != nullptr) {
    throw Error(Code::kArgument, "the operators of this thread are being traced already");
  }
  current = this;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

CallTracer::~CallTracer() {
  at::removeCallback(handle_);
  current = nullptr;
}

std::string CallTracer::running_module() const {
  if (!where_) return {};
  where_.push(L_);
  lua_pushinteger(L_, 0);
  lua::protected_call(L_, 1, 1);
  std::string out;
  if (const char* text = lua_tostring(L_, -1)) out = text;
  lua_pop(L_, 1);
  return out;
}

std::unique_ptr<at::ObserverContext> CallTracer::begin(const at::RecordFunction& function) {
  const auto schema = function.operator_schema();
  if (current == nullptr || !schema) return nullptr;
  auto call = std::make_unique<TracedCall>(*schema);
  const auto inputs = function.inputs();
  call->arguments.assign(inputs.begin(), inputs.end());
  if (current->open_.empty()) {
    call->line = lua_line(current->L_);
    call->module = current->running_module();
  }
  auto context = std::make_unique<Context>();
  context->call = call.get();
  auto& calls = current->open_.empty() ? current->calls_ : current->open_.back()->calls;
  calls.push_back(std::move(call));
  current->open_.push_back(context->call);
  return context;
}

void CallTracer::end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (current == nullptr || context == nullptr) return;
  TracedCall& call = *static_cast<Context*>(context)->call;
  call.results = function.outputs();
  current->open_.pop_back();
}

double tensor_identity(const at::Tensor& tensor) { return number_of(tensor.unsafeGetTensorImpl()); }

double storage_identity(const at::Tensor& tensor) {
  return tensor.has_storage() ? number_of(tensor.storage().unsafeGetStorageImpl())
                              : tensor_identity(tensor);
}

void push_calls(lua_State* L, const TracedCalls& calls) {
  Pusher pusher(L);
  pusher.push(calls);
  lua_remove(L, -2);
}

}  // namespace rtrain::engine
