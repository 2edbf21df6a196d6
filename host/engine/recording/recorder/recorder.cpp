#include "host/engine/recording/recorder/recorder.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/zero_ops.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/recording/operator_traits.h"
#include "host/engine/recording/recorder/refusal.h"
#include "host/engine/runtime/effect.h"
#include "host/engine/tensor/shard_guard.h"

namespace rtrain::engine {
namespace {

constexpr std::string_view kUnusedRate = "no operator takes a learning rate as its argument lr";

bool has_tensors(const RecordedCall& call) { return !call.tensors.empty(); }

void record_call(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack* stack) {
  const c10::DispatchKeySet below =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, Recorder::kKey);
  if (is_composite(op)) return op.redispatchBoxed(below, stack);
  // What the operator calls itself is a part of it, and what an effect does in Lua.
  Recorder* recorder = Recorder::current();
  const c10::impl::ExcludeDispatchKeyGuard exclude(Recorder::kKey);
  const RecordingListener::Pause pause;
  if (recorder == nullptr || !recorder->refusal().empty()) return op.redispatchBoxed(below, stack);
  RecordedCall call(op);
  recorder->observe([&] { call = recorder->before(op, *stack); });
  op.redispatchBoxed(below, stack);
  recorder->observe([&] { recorder->after(std::move(call), *stack); });
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&record_call>());
}

bool is_wrapped_number(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

const c10::StorageImpl* storage_key(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

// Whether its memory is there: fully_shard frees that of gathered parameters.
bool has_memory(const at::Tensor& tensor) {
  return tensor.storage().nbytes() >=
         at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                          static_cast<size_t>(tensor.storage_offset()));
}

// The operators that the recorder adds itself.
template <class Op>
c10::OperatorHandle handle_of() {
  return c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
}

}  // namespace

Recorder::Recorder(std::vector<at::Tensor> arguments, std::vector<at::Tensor> leaves,
                   bool keeps_results, Line line)
    : line_(std::move(line)), grads_(std::move(leaves)), keeps_results_(keeps_results) {
  if (listener != nullptr) throw Error(Code::kInternal, "this thread is recorded already");
  RecordingListener* none = nullptr;
  of_devices.compare_exchange_strong(none, this);
  numbers_.divide(grads_.before());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const at::Tensor& argument = arguments[i];
    if (!is_plain(argument)) return;
    if (argument.requires_grad()) refuse(cat("argument ", i + 1, " needs a gradient"));
    const auto storage = numbers_.find(argument);
    const auto seen = values_.find(argument.unsafeGetTensorImpl());
    record_.argument_aliases.push_back(static_cast<int>(i));
    if (storage) {
      const Value& other =
          record_.values[static_cast<size_t>(memory_[static_cast<size_t>(*storage)].values[0])];
      record_.argument_aliases.back() = other.source;
    }
    record_.arguments.push_back(seen != values_.end()
                                    ? seen->second
                                    : add_value(argument, Origin::kArgument, static_cast<int>(i)));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    watch_version(arguments[i], record_.arguments[i]);
  }
  listener = this;
  is_active_ = true;
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

Recorder::~Recorder() { stop(); }

void Recorder::stop() {
  RecordingListener* self = this;
  of_devices.compare_exchange_strong(self, nullptr);
  if (!is_active_) return;
  is_active_ = false;
  c10::impl::tls_set_dispatch_key_included(kKey, false);
  listener = nullptr;
}

void Recorder::refuse(std::string_view reason) {
  if (reason.empty() || !refusal_.empty()) return;
  const std::string at_line = is_active_ ? line() : std::string();
  refusal_ = at_line.empty() ? std::string(reason) : cat(reason, ", at ", at_line);
}

bool Recorder::is_plain(const at::Tensor& tensor) {
  const bool is_strided = tensor.layout() == at::kStrided && tensor.has_storage();
  if (!is_on_its_device(tensor)) return false;
  if (is_strided && !tensor.is_neg() && !tensor.is_conj() && !tensor.is_quantized() &&
      !tensor.is_nested()) {
    if (!numbers_.is_in_several(tensor)) return true;
    refuse("it looks at the memory of several gradients at once");
    return false;
  }
  refuse("it uses a tensor that is not a plain one");
  return false;
}

// Whether it is on the CPU or on the step's one GPU.
bool Recorder::is_on_its_device(const at::Tensor& tensor) {
  const at::Device device = tensor.device();
  if (device.is_cpu()) return true;
  if (std::string reason = refusal_of(device); !reason.empty()) {
    refuse(std::move(reason));
  } else if (device_.value_or(device) != device) {
    refuse(cat("it uses tensors on ", device_->str(), " and on ", device.str()));
  } else if (of_devices != this) {
    refuse("another thread records a step at the same time");
  }
  device_ = device;
  return refusal_.empty();
}

void Recorder::add_rate(int group) {
  if (rate_ >= 0) refuse(kUnusedRate);
  rate_ = group;
}

int Recorder::storage_of(const at::Tensor& tensor) {
  const auto [number, is_new] = numbers_.add(tensor);
  if (is_new) {
    memory_.push_back(Memory{.held = tensor.storage().getWeakStorageImpl(), .values = {}});
  }
  return number;
}

int Recorder::add_value(const at::Tensor& tensor, Origin origin, int source) {
  const int storage = storage_of(tensor);
  const int number = static_cast<int>(record_.values.size());
  record_.values.push_back(Value{
      .origin = origin, .source = source, .storage = storage, .geometry = Geometry::of(tensor)});
  memory_[static_cast<size_t>(storage)].values.push_back(number);
  if (values_.try_emplace(tensor.unsafeGetTensorImpl(), number).second) {
    held_.emplace_back(tensor.getIntrusivePtr());
  }
  return number;
}

int Recorder::add_number(const at::Tensor& tensor) {
  at::Tensor copy = tensor.clone();
  copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  record_.constants.push_back(copy);
  return add_value(copy, Origin::kConstant, static_cast<int>(record_.constants.size()) - 1);
}

int Recorder::view_of(const at::Tensor& tensor, int storage) {
  const std::vector<int>& known = memory_[static_cast<size_t>(storage)].values;
  for (const int number : known) {
    if (!record_.values[static_cast<size_t>(number)].geometry.is_of(tensor)) continue;
    if (values_.try_emplace(tensor.unsafeGetTensorImpl(), number).second) {
      held_.emplace_back(tensor.getIntrusivePtr());
    }
    return number;
  }
  const auto base = std::ranges::find_if(known, [&](int number) {
    return record_.values[static_cast<size_t>(number)].geometry.dtype == tensor.scalar_type();
  });
  if (base == known.end()) {
    refuse("it looks at the memory of a tensor as another dtype");
    return known.front();
  }
  RecordedCall call(handle_of<at::_ops::as_strided>());
  call.arguments = {c10::IValue(), tensor.sizes(), tensor.strides(), tensor.storage_offset()};
  call.tensors = {ValuePlace{.at = 0, .item = -1, .value = *base}};
  call.is_view = true;
  const int number = add_value(tensor, Origin::kMade, static_cast<int>(record_.calls.size()));
  call.results = {ValuePlace{.at = 0, .item = -1, .value = number}};
  record_.calls.push_back(std::move(call));
  return number;
}

int Recorder::number_of(const at::Tensor& tensor) {
  const auto found = values_.find(tensor.unsafeGetTensorImpl());
  if (found != values_.end()) return found->second;
  if (!is_plain(tensor)) return 0;
  const int grad_of = grads_.leaf_of(tensor);
  const auto storage = numbers_.find(tensor);
  if (storage && grad_of < 0) {
    grads_.add(tensor);
    return view_of(tensor, *storage);
  }
  if (is_wrapped_number(tensor)) return add_number(tensor);
  grads_.add(tensor);
  record_.states.push_back(tensor);
  record_.grad_of.push_back(grad_of);
  const int number = add_value(tensor, Origin::kState, static_cast<int>(record_.states.size()) - 1);
  watch_version(tensor, number);
  return number;
}

// The version of tensor data grows with each change that autograd sees.
void Recorder::watch_version(const at::Tensor& tensor, int value) {
  if (!tensor.is_inference()) versions_.push_back({tensor, value, tensor._version()});
}

void Recorder::read_versions() {
  std::set<const c10::StorageImpl*> counted;
  for (const Version& each : versions_) {
    const auto grown = static_cast<int>(each.tensor._version() - each.before);
    // Views have the version of their base.
    if (grown > 0 && counted.insert(storage_key(each.tensor)).second) {
      record_.versions.emplace_back(each.value, grown);
    }
  }
  versions_.clear();  // before the count of a state's owners
}

void Recorder::read_list(RecordedCall& call, int at, const c10::IValue& value) {
  const c10::ArrayRef<c10::IValue> items = value.toListRef();
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].isTensor() || !items[i].toTensor().defined()) continue;
    call.tensors.push_back(
        ValuePlace{.at = at, .item = static_cast<int>(i), .value = number_of(items[i].toTensor())});
  }
  if (value.isOptionalTensorList()) call.optional_lists.push_back(at);
  call.arguments.emplace_back(static_cast<int64_t>(items.size()));
}

void Recorder::read_argument(RecordedCall& call, int at, const c10::IValue& value) {
  if (value.isTensorList() || value.isOptionalTensorList()) return read_list(call, at, value);
  if (value.isStorage() || value.isStream() || value.isObject()) {
    refuse(cat("the operator ", call.name(), " gets something other than tensors and numbers"));
  }
  if (!value.isTensor()) {
    call.arguments.push_back(value);
    return;
  }
  call.arguments.emplace_back();
  if (value.toTensor().defined()) {
    call.tensors.push_back(ValuePlace{.at = at, .item = -1, .value = number_of(value.toTensor())});
  } else {
    call.undefined.push_back(at);
  }
}

RecordedCall Recorder::before(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  RecordedCall call(op);
  call.line = line();
  const auto& arguments = op.schema().arguments();
  const auto given = torch::jit::last(stack, arguments.size());
  refuse(refusal_of(op, given));
  for (size_t i = 0; i < arguments.size() && refusal_.empty(); ++i) {
    read_argument(call, static_cast<int>(i), given[i]);
    if (rate_ >= 0 && arguments[i].name() == "lr" && given[i].isDouble()) {
      call.rate_argument = static_cast<int>(i);
      call.rate = std::exchange(rate_, -1);
    }
  }
  if (refusal_.empty()) note_writes(call);
  if (keeps_results_ && call.is_effect()) call.kept = given[1].toTensorVector();
  return call;
}

void Recorder::note_writes(RecordedCall& call) {
  const c10::FunctionSchema& schema = call.op.schema();
  for (const ValuePlace& place : call.tensors) {
    const c10::AliasInfo* alias = schema.arguments()[static_cast<size_t>(place.at)].alias_info();
    const std::string& name = schema.arguments()[static_cast<size_t>(place.at)].name();
    const bool is_statistic = writes_statistics(schema.name()) && name.starts_with("running_");
    if ((alias == nullptr || !alias->isWrite()) && !is_statistic) continue;
    call.written.push_back(place.value);
    if (record_.values[static_cast<size_t>(place.value)].origin == Origin::kConstant) {
      refuse(cat("the operator ", call.name(), " writes to a number of the script"));
    }
  }
}

void Recorder::check_unwritten_reads(const RecordedCall& call) {
  for (const ValuePlace& place : call.tensors) {
    Memory& memory =
        memory_[static_cast<size_t>(record_.values[static_cast<size_t>(place.value)].storage)];
    if (!memory.is_unwritten) continue;
    const bool is_empty =
        std::ranges::count(record_.values[static_cast<size_t>(place.value)].geometry.sizes, 0) > 0;
    if (std::ranges::find(call.written, place.value) != call.written.end()) {
      memory.is_unwritten = false;
    } else if (!is_empty && !call.is_view && !allocates(call.op.schema().name())) {
      refuse(cat("the operator ", call.name(),
                 " reads a tensor that no operator has written: the step fills it from the host"));
    }
  }
}

void Recorder::add_result(RecordedCall& call, ValuePlace place, const at::Tensor& tensor) {
  if (!tensor.defined() || values_.contains(tensor.unsafeGetTensorImpl())) return;
  if (!is_plain(tensor)) return;
  if (const auto known = numbers_.find(tensor)) {
    const auto& numbers = memory_[static_cast<size_t>(*known)].values;
    const auto same = std::ranges::find_if(numbers, [&](int number) {
      return record_.values[static_cast<size_t>(number)].geometry.is_of(tensor);
    });
    if (same != numbers.end()) {  // such as detach()
      values_.emplace(tensor.unsafeGetTensorImpl(), *same);
      held_.emplace_back(tensor.getIntrusivePtr());
      return;
    }
  }
  place.value = add_value(tensor, Origin::kMade, static_cast<int>(record_.calls.size()));
  call.results.push_back(place);
}

bool Recorder::views_its_arguments(const RecordedCall& call) const {
  if (!call.written.empty() || call.tensors.empty()) return false;
  return std::ranges::all_of(call.results, [&](const ValuePlace& result) {
    const int storage = record_.values[static_cast<size_t>(result.value)].storage;
    return std::ranges::any_of(call.tensors, [&](const ValuePlace& place) {
      return record_.values[static_cast<size_t>(place.value)].storage == storage;
    });
  });
}

void Recorder::keep_results(RecordedCall& call, c10::ArrayRef<c10::IValue> results) {
  for (at::Tensor& changed : call.kept) {
    changed = has_memory(changed) ? changed.detach().clone() : at::Tensor();
  }
  for (const c10::IValue& result : results) {
    if (result.isTensor()) {
      const at::Tensor& tensor = result.toTensor();
      call.kept.push_back(tensor.defined() ? tensor.clone() : tensor);
    } else if (result.isTensorList()) {
      for (const at::Tensor& item : result.toTensorVector()) {
        call.kept.push_back(item.defined() ? item.clone() : item);
      }
    }
  }
}

// One call for each tensor, which can be a part of a region.
void Recorder::add_zeros(const RecordedCall& call) {
  for (ValuePlace place : call.tensors) {
    RecordedCall zero(handle_of<at::_ops::zero_>());
    zero.arguments = {c10::IValue()};
    place.at = 0;
    place.item = -1;
    zero.tensors = {place};
    zero.written = {place.value};
    record_.calls.push_back(std::move(zero));
  }
}

void Recorder::after(RecordedCall call, const torch::jit::Stack& stack) {
  if (!refusal_.empty()) return;
  const auto results = torch::jit::last(stack, call.op.schema().returns().size());
  bool gives_tensors = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const int at = static_cast<int>(i);
    if (results[i].isTensor()) {
      gives_tensors = true;
      add_result(call, ValuePlace{.at = at}, results[i].toTensor());
    } else if (results[i].isTensorList()) {
      gives_tensors = true;
      const std::vector<at::Tensor> items = results[i].toTensorVector();
      for (size_t k = 0; k < items.size(); ++k) {
        add_result(call, ValuePlace{.at = at, .item = static_cast<int>(k)}, items[k]);
      }
    } else if (!results[i].isNone() && has_tensors(call) && !gives_sizes(call.op.schema().name())) {
      refuse(cat("it reads a number out of a tensor (", call.name(), ")"));
    }
  }
  call.is_view = views_its_arguments(call);
  check_unwritten_reads(call);
  if (allocates(call.op.schema().name())) {
    for (const ValuePlace& place : call.results) {
      memory_[static_cast<size_t>(record_.values[static_cast<size_t>(place.value)].storage)]
          .is_unwritten = true;
    }
  }
  if (call.op.schema().name() == "aten::_foreach_zero_") return add_zeros(call);
  const bool does_nothing = call.results.empty() && call.written.empty();
  if (does_nothing && (gives_tensors || !has_tensors(call))) return;
  if (keeps_results_) keep_results(call, results);
  record_.calls.push_back(std::move(call));
}

void Recorder::add_constant(const at::Tensor& tensor) {
  const auto found = values_.find(tensor.unsafeGetTensorImpl());
  if (!refusal_.empty() || found == values_.end()) return;
  const int number = found->second;
  const c10::impl::ExcludeDispatchKeyGuard exclude(kKey);
  record_.constants.push_back(tensor.detach().clone());
  const int source = static_cast<int>(record_.constants.size()) - 1;
  RecordedCall call(handle_of<at::_ops::copy_>());
  call.arguments = {c10::IValue(), c10::IValue(), false};
  call.tensors = {
      ValuePlace{.at = 0, .item = -1, .value = number},
      ValuePlace{.at = 1,
                 .item = -1,
                 .value = add_value(record_.constants.back(), Origin::kConstant, source)}};
  call.written = {number};
  memory_[static_cast<size_t>(record_.values[static_cast<size_t>(number)].storage)].is_unwritten =
      false;
  if (keeps_results_) call.kept = {record_.constants.back()};
  record_.calls.push_back(std::move(call));
}

void Recorder::add_loss(const at::Tensor& loss) {
  const auto found = values_.find(loss.unsafeGetTensorImpl());
  if (found != values_.end()) record_.loss = found->second;
}

// A state that only the recorder still has was made in the step, without an operator. It is a
// constant, if nobody has written to it.
void Recorder::forget_dead_states() {
  for (Value& value : record_.values) {
    if (value.origin != Origin::kState) continue;
    at::Tensor& state = record_.states[static_cast<size_t>(value.source)];
    if (state.use_count() > 1 || state.storage().use_count() > 1) continue;
    if (record_.is_written(value.storage)) {
      refuse("it changes a tensor that it made without an operator");
      return;
    }
    record_.constants.push_back(state.contiguous());
    value.origin = Origin::kConstant;
    value.source = static_cast<int>(record_.constants.size()) - 1;
    state.reset();
  }
}

void Recorder::read_grads() {
  auto effects = grads_.effects(record_.grad_of, [this](const at::Tensor& grad) {
    const auto found = values_.find(grad.unsafeGetTensorImpl());
    return found == values_.end() ? -1 : found->second;
  });
  if (!effects) return refuse("it sets a gradient that no operator has made");
  record_.grads = std::move(*effects);
}

Record Recorder::take(const std::vector<at::Tensor>& outputs) {
  if (rate_ >= 0) refuse(kUnusedRate);
  if (begun_ != 0) refuse("a collective that it begins does not end in it");
  for (const at::Tensor& output : outputs) {
    if (shard_number(output) != 0) refuse("it returns rows of a sharded tensor");
    if (refusal_.empty()) record_.outputs.push_back(number_of(output));
  }
  if (refusal_.empty()) read_grads();
  read_versions();
  if (refusal_.empty()) forget_dead_states();
  record_.leaves = grads_.take_leaves();
  record_.num_storages = static_cast<int>(memory_.size());
  return std::move(record_);
}

}  // namespace rtrain::engine
