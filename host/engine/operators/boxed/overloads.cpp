#include "host/engine/operators/boxed/overloads.h"

#include <ATen/core/function_schema.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

constexpr size_t kMaxParams = 64;

Kind list_kind(const c10::TypePtr& element) {
  switch (element->kind()) {
    case c10::TypeKind::TensorType:
      return Kind::kTensorList;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return Kind::kIntList;
    case c10::TypeKind::FloatType:
      return Kind::kFloatList;
    case c10::TypeKind::BoolType:
      return Kind::kBoolList;
    case c10::TypeKind::NumberType:
      return Kind::kScalarList;
    case c10::TypeKind::OptionalType: {
      const auto inner = element->castRaw<c10::OptionalType>()->getElementType();
      return inner->kind() == c10::TypeKind::TensorType ? Kind::kOptionalTensorList : Kind::kOther;
    }
    default:
      return Kind::kOther;
  }
}

Kind kind_of(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return Kind::kTensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return Kind::kInt;
    case c10::TypeKind::FloatType:
      return Kind::kFloat;
    case c10::TypeKind::NumberType:
      return Kind::kScalar;
    case c10::TypeKind::BoolType:
      return Kind::kBool;
    case c10::TypeKind::StringType:
      return Kind::kString;
    case c10::TypeKind::ScalarTypeType:
      return Kind::kDtype;
    case c10::TypeKind::LayoutType:
      return Kind::kLayout;
    case c10::TypeKind::MemoryFormatType:
      return Kind::kMemoryFormat;
    case c10::TypeKind::DeviceObjType:
      return Kind::kDevice;
    case c10::TypeKind::GeneratorType:
      return Kind::kGenerator;
    case c10::TypeKind::ListType:
      return list_kind(type->castRaw<c10::ListType>()->getElementType());
    default:
      return Kind::kOther;
  }
}

std::string type_text(const Param& param) {
  static constexpr const char* kNames[] = {
      "Tensor",  "Tensor[]",      "Tensor?[]", "int",       "int",       "int[]",  "float",
      "float[]", "number",        "number[]",  "bool",      "bool[]",    "string", "dtype",
      "layout",  "memory_format", "device",    "Generator", "(internal)"};
  std::string out = kNames[static_cast<size_t>(param.kind)];
  if (param.fixed_size > 0) out.insert(out.size() - 1, std::to_string(param.fixed_size));
  return param.optional ? out + "?" : out;
}

Param make_param(const c10::Argument& argument) {
  Param out;
  out.name = argument.name();
  out.shown = out.name == "self" ? "input" : out.name;
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) {
    out.optional = true;
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  out.kind = kind_of(type);
  if (out.kind == Kind::kInt && out.name == "reduction") out.kind = Kind::kReduction;
  out.keyword_only = argument.kwarg_only();
  out.is_out = argument.is_out();
  out.fixed_size = argument.N().value_or(0);
  const bool list =
      out.kind == Kind::kIntList || out.kind == Kind::kFloatList || out.kind == Kind::kBoolList;
  if (!list) out.fixed_size = 0;
  if (argument.default_value()) {
    out.has_default = true;
    out.default_value = *argument.default_value();
  }
  out.type = type_text(out);
  return out;
}

bool is_left_out(const c10::FunctionSchema& schema) {
  if (schema.arguments().size() > kMaxParams) return true;
  const std::string& overload = schema.overload_name();
  for (const char* word : {"imname", "names", "named"}) {
    if (overload.find(word) != std::string::npos) return true;
  }
  return false;
}

bool writes_out(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& a) { return a.is_out(); });
}

std::string default_text(const c10::IValue& value) {
  if (value.isNone()) return "nil";
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string signature_of(const std::string& name, const Overload& overload) {
  std::string out = name + "(";
  bool keywords = false;
  for (size_t i = 0; i < overload.params.size(); ++i) {
    const Param& p = overload.params[i];
    if (i > 0) out += ", ";
    if (p.keyword_only && !keywords) {
      keywords = true;
      out += "*, ";
    }
    out += cat(p.type, " ", p.name);
    if (p.has_default) out += cat("=", default_text(p.default_value));
  }
  return out + ")";
}

// "add(Tensor self, Tensor other, *, number alpha=1, Tensor? out=nil)"
void add_out_to_signature(Overload& overload, const Family& family) {
  const auto takes_same = [&](const Overload& other) {
    return other.positional == overload.positional && other.outs == overload.returns.size();
  };
  if (!std::ranges::any_of(family.with_out, takes_same)) return;
  const bool has_keywords = overload.positional < overload.params.size();
  overload.signature.pop_back();
  overload.signature += cat(has_keywords ? ", " : ", *, ",
                            overload.returns.size() == 1 ? "Tensor" : "Tensor[]", "? out=nil)");
}

std::string results_of(const c10::FunctionSchema& schema) {
  std::string out;
  for (const auto& result : schema.returns()) {
    if (!out.empty()) out += ", ";
    out += make_param(result).type;
    if (!result.name().empty()) out += cat(" ", result.name());
  }
  return out;
}

int shared_argument(const c10::FunctionSchema& schema, const c10::Argument& result) {
  const auto* alias = result.alias_info();
  if (alias == nullptr) return -1;
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* other = arguments[i].alias_info();
    if (other != nullptr && other->beforeSets() == alias->beforeSets()) return static_cast<int>(i);
  }
  return -1;
}

Overload make_overload(const std::string& name, c10::OperatorHandle op) {
  const c10::FunctionSchema& schema = op.schema();
  Overload out(op);
  for (const auto& argument : schema.arguments()) {
    out.params.push_back(make_param(argument));
    out.factory |= argument.name() == "pin_memory";
    out.outs += argument.is_out() ? 1 : 0;
  }
  for (const auto& result : schema.returns()) {
    out.returns.push_back(
        {kind_of(result.real_type()) == Kind::kDtype, shared_argument(schema, result)});
  }
  out.is_mutable = schema.is_mutable();
  out.is_random = op.hasTag(at::Tag::nondeterministic_seeded);
  while (out.positional < out.params.size() && !out.params[out.positional].keyword_only)
    ++out.positional;
  const size_t first = out.positional > 0 && out.params[0].name == "self" ? 1 : 0;
  const bool one_list = out.positional == first + 1 && out.params[first].kind == Kind::kIntList &&
                        out.params[first].fixed_size == 0;
  if (one_list) out.varargs = static_cast<int>(first);
  out.signature = signature_of(name, out);
  out.results = results_of(schema);
  return out;
}

void take_numbers(Overload& overload) {
  for (Param& param : overload.params)
    param.takes_number = param.kind == Kind::kTensor && !param.is_out;
}

// As in PyTorch, the first operand of these operators may be a number.
void take_first_number(const std::string& name, std::vector<Overload>& overloads) {
  static constexpr std::string_view kNames[] = {
      "add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide"};
  if (std::ranges::find(kNames, name) == std::end(kNames)) return;
  for (Overload& overload : overloads) overload.params[0].takes_number = true;
}

int self_place(const Family& family) {
  for (const Overload& overload : family.overloads) {
    for (size_t i = 0; i < overload.positional; ++i) {
      const Param& param = overload.params[i];
      if (param.name == "self" && param.kind == Kind::kTensor) return static_cast<int>(i);
    }
  }
  return 0;
}

// PyTorch's order: a Tensor is tried before a number, an int before a list of ints; a list of
// tensors comes last, except for strings.
int preference(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return 0;
    case Kind::kBool:
      return 2;
    case Kind::kInt:
    case Kind::kReduction:
      return 3;
    case Kind::kFloat:
      return 4;
    case Kind::kScalar:
      return 5;
    case Kind::kIntList:
      return 6;
    case Kind::kTensorList:
      return 7;
    case Kind::kString:  // conv2d with numeric padding comes before padding = 'same', which
                         // checks less
      return 8;
    default:
      return 1;
  }
}

// Compares the parameters from `begin` up to `end`; below 0 if a's are tried first.
int compare_params(const Overload& a, const Overload& b, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const int difference = preference(a.params[i].kind) - preference(b.params[i].kind);
    if (difference != 0) return difference;
  }
  return 0;
}

bool comes_before(const Overload& a, const Overload& b) {
  const size_t common = std::min(a.positional, b.positional);
  if (const int order = compare_params(a, b, 0, common); order != 0) return order < 0;
  if (a.params.size() != b.params.size()) return a.params.size() < b.params.size();
  // Compares keywords too: a learning rate in a device tensor must not be read on the host.
  if (const int order = compare_params(a, b, common, a.params.size()); order != 0) return order < 0;
  return a.op.schema().overload_name() < b.op.schema().overload_name();
}

class Registry {
 public:
  Registry() {
    for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) {
      constexpr std::string_view kSpace = "aten::";
      if (std::string_view(op.name).starts_with(kSpace))
        names_[op.name.substr(kSpace.size())].push_back(op);
    }
  }

  const Family* find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto known = families_.find(name);
    if (known != families_.end()) return known->second.get();
    const auto found = names_.find(name);
    if (found == names_.end()) return nullptr;
    if (const std::string reason = refusal(name); !reason.empty()) {
      throw Error(Code::kUnsupported, cat("operator '", name, "' is left out: ", reason));
    }
    return (families_[name] = make_family(name, found->second)).get();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, ops] : names_) {
      const bool is_public = !name.starts_with("_") && refusal(name).empty();
      if (is_public && std::ranges::any_of(ops, &can_be_called)) out.push_back(name);
    }
    return out;
  }

 private:
  static bool can_be_called(const c10::OperatorName& op) {
    const auto handle = c10::Dispatcher::singleton().findSchema(op);
    return handle && !is_left_out(handle->schema()) && !writes_out(handle->schema());
  }

  // Returns null if no overload can be called from Lua.
  static std::unique_ptr<Family> make_family(const std::string& name,
                                             const std::vector<c10::OperatorName>& ops) {
    auto out = std::make_unique<Family>();
    out->name = name;
    bool numbers_will_do = false;
    for (const auto& op : ops) {
      const auto handle = c10::Dispatcher::singleton().findSchema(op);
      if (!handle || is_left_out(handle->schema())) continue;
      if (!writes_out(handle->schema())) {
        out->overloads.push_back(make_overload(name, *handle));
      } else if (!handle->hasTag(at::Tag::generated) || handle->hasTag(at::Tag::view_copy)) {
        out->with_out.push_back(make_overload(name, *handle));
      } else {
        // PyTorch's Python binding has no Scalar overload; its tensor overload accepts numbers
        // instead.
        numbers_will_do |= op.overload_name.starts_with("Scalar");
      }
    }
    if (out->overloads.empty()) return nullptr;
    std::ranges::sort(out->overloads, comes_before);
    std::ranges::sort(out->with_out, comes_before);
    for (Overload& overload : out->overloads) add_out_to_signature(overload, *out);
    if (numbers_will_do) std::ranges::for_each(out->with_out, &take_numbers);
    take_first_number(name, out->overloads);
    out->self_place = self_place(*out);
    out->check = find_safety_check(name);
    return out;
  }

  std::map<std::string, std::vector<c10::OperatorName>> names_;
  std::unordered_map<std::string, std::unique_ptr<Family>> families_;
  std::mutex mutex_;
};

// Never destroyed: operator handles must not outlive LibTorch's static objects.
Registry& registry() {
  static auto* out = new Registry();
  return *out;
}

}  // namespace

std::string_view without_reserved_mark(std::string_view name) {
  static constexpr std::string_view kReserved[] = {"and_",    "end_",   "for_",  "function_",
                                                   "if_",     "in_",    "not_",  "or_",
                                                   "repeat_", "until_", "while_"};
  return std::ranges::find(kReserved, name) == std::end(kReserved)
             ? name
             : name.substr(0, name.size() - 1);
}

const Family* find_family(const std::string& name) {
  if (const Family* family = registry().find(name)) return family;
  const auto plain = without_reserved_mark(name);
  return plain.size() == name.size() ? nullptr : registry().find(std::string(plain));
}

std::vector<std::string> family_names() { return registry().names(); }

}  // namespace rtrain::engine
