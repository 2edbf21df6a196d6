#include "host/engine/recording/record.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "host/base/text/text.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

bool is_same_list(const c10::IValue& a, const c10::IValue& b);

bool is_same(const c10::IValue& a, const c10::IValue& b) {
  if (a.isDouble() && b.isDouble()) {
    return std::bit_cast<uint64_t>(a.toDouble()) == std::bit_cast<uint64_t>(b.toDouble());
  }
  if (a.isList() && b.isList()) return is_same_list(a, b);
  if (a.isCapsule() && b.isCapsule()) return Effect::of(a).is_same(Effect::of(b));
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isGenerator()) return a.toGenerator() == b.toGenerator();
  return a.equals(b).toBool();
}

bool is_same_list(const c10::IValue& a, const c10::IValue& b) {
  const c10::ArrayRef<c10::IValue> first = a.toListRef();
  const c10::ArrayRef<c10::IValue> second = b.toListRef();
  return first.size() == second.size() &&
         std::equal(first.begin(), first.end(), second.begin(), &is_same);
}

std::string text_of(const c10::IValue& value) {
  if (value.isDouble()) return cat(value.toDouble());
  if (value.isCapsule()) return Effect::of(value).name();
  std::ostringstream out;
  out << value;
  return out.str();
}

// How the arguments of two calls of the same operator differ.
std::optional<std::string> argument_difference(const RecordedCall& before,
                                               const RecordedCall& now) {
  const auto& arguments = now.op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (static_cast<int>(i) == now.rate_argument && now.rate == before.rate) continue;
    if (is_same(before.arguments[i], now.arguments[i])) continue;
    return cat("its argument ", arguments[i].name(), " was ", text_of(before.arguments[i]),
               " and is ", text_of(now.arguments[i]), " in the next call");
  }
  if (before.tensors == now.tensors && before.undefined == now.undefined) return std::nullopt;
  return "it gets other tensors in the next call";
}

std::optional<std::string> call_difference(const Record& before, const Record& now) {
  const size_t count = std::min(before.calls.size(), now.calls.size());
  for (size_t i = 0; i < count; ++i) {
    const RecordedCall& first = before.calls[i];
    const RecordedCall& second = now.calls[i];
    if (first.op.operator_name() != second.op.operator_name()) {
      return cat("operator ", i + 1, " was ", first.text(), " and is ", second.text(),
                 " in the next call");
    }
    if (const auto found = argument_difference(first, second)) {
      return cat("operator ", i + 1, ", ", first.text(), ": ", *found);
    }
    if (first.results != second.results || first.written != second.written) {
      return cat("operator ", i + 1, ", ", first.text(), ": it gives other tensors");
    }
  }
  if (before.calls.size() == now.calls.size()) return std::nullopt;
  return cat("it called ", before.calls.size(), " operators and calls ", now.calls.size(),
             " in the next call");
}

bool has_same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.device() != b.device() || a.sizes() != b.sizes()) {
    return false;
  }
  if (a.numel() == 0) return true;
  if (!a.device().is_cpu()) return a.equal(b);
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

std::string user_of(const Record& record, int value) {
  for (const RecordedCall& call : record.calls) {
    for (const ValuePlace& place : call.tensors) {
      if (place.value == value) return cat(", first used by ", call.text());
    }
  }
  return "";
}

int value_from(const Record& record, Origin origin, size_t source) {
  for (size_t i = 0; i < record.values.size(); ++i) {
    const Value& value = record.values[i];
    if (value.origin == origin && value.source == static_cast<int>(source)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string tensor_text(const at::Tensor& tensor) {
  return cat(c10::toString(tensor.scalar_type()), " ", c10::str(tensor.sizes()));
}

std::optional<std::string> state_difference(const Record& before, const Record& now) {
  if (before.states.size() != now.states.size()) return "it uses other tensors in the next call";
  for (size_t i = 0; i < now.states.size(); ++i) {
    const at::Tensor& first = before.states[i];
    const at::Tensor& second = now.states[i];
    if (now.grad_of[i] >= 0 || first.is_same(second)) continue;
    if (!first.defined() || !second.defined()) return "it makes other tensors in the next call";
    const bool is_same_memory =
        first.storage().unsafeGetStorageImpl() == second.storage().unsafeGetStorageImpl() &&
        Geometry::of(first) == Geometry::of(second);
    if (is_same_memory) continue;
    return cat("a tensor of ", tensor_text(first),
               user_of(before, value_from(before, Origin::kState, i)),
               " is another one in the next call: a step under train.compile changes its tensors "
               "in place (copy_)");
  }
  return std::nullopt;
}

std::string number_text(const at::Tensor& number) {
  if (number.is_complex()) return text_of(number.item());
  return cat(number.item<double>());
}

std::optional<std::string> constant_difference(const Record& before, const Record& now) {
  if (before.constants.size() != now.constants.size()) return "it uses other numbers";
  for (size_t i = 0; i < now.constants.size(); ++i) {
    if (has_same_bytes(before.constants[i], now.constants[i])) continue;
    const std::string user = user_of(before, value_from(before, Origin::kConstant, i));
    if (now.constants[i].numel() > 1) return cat("numbers of the script", user, " change");
    return cat("a number of the script", user, " was ", number_text(before.constants[i]),
               " and is ", number_text(now.constants[i]), " in the next call");
  }
  return std::nullopt;
}

}  // namespace

bool allocates(std::string_view name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty");
}

Geometry Geometry::of(const at::Tensor& tensor) {
  return {.dtype = tensor.scalar_type(),
          .device = tensor.device(),
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec(),
          .offset = tensor.storage_offset()};
}

bool Geometry::is_of(const at::Tensor& tensor) const {
  return tensor.scalar_type() == dtype && tensor.device() == device &&
         tensor.sizes() == at::IntArrayRef(sizes) && tensor.strides() == at::IntArrayRef(strides) &&
         tensor.storage_offset() == offset;
}

bool RecordedCall::is_effect() const { return op.operator_name().name == Effect::kOperator; }

std::string RecordedCall::name() const {
  const c10::OperatorName& name = op.operator_name();
  if (is_effect() && !arguments.empty()) return Effect::of(arguments[0]).name();
  if (name.overload_name.empty()) return name.name;
  return cat(name.name, ".", name.overload_name);
}

std::string RecordedCall::text() const { return line.empty() ? name() : cat(name(), " at ", line); }

bool Record::is_written(int storage) const {
  return std::ranges::any_of(calls, [&](const RecordedCall& call) {
    return std::ranges::any_of(call.written, [&](int value) {
      return values[static_cast<size_t>(value)].storage == storage;
    });
  });
}

std::optional<std::string> difference(const Record& before, const Record& now) {
  if (auto found = call_difference(before, now)) return found;
  if (auto found = state_difference(before, now)) return found;
  if (auto found = constant_difference(before, now)) return found;
  if (before.outputs != now.outputs) return "it returns other tensors in the next call";
  for (size_t i = 0; i < now.values.size(); ++i) {
    if (before.values[i].geometry == now.values[i].geometry) continue;
    return cat("a tensor of ", c10::str(at::IntArrayRef(before.values[i].geometry.sizes)),
               " has other sizes or strides in the next call");
  }
  return std::nullopt;
}

}  // namespace rtrain::engine
