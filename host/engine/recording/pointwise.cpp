#include "host/engine/recording/pointwise.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "host/base/error.h"

namespace rtrain::engine {

using compile::Operand;
using compile::Operation;

namespace {

size_t at(int index) { return static_cast<size_t>(index); }

}  // namespace

// The operands of one call, and what it computes.
class Formula {
 public:
  Formula(RegionBuilder& builder, const RecordedCall& call) : builder_(builder), call_(call) {}

  // A tensor argument.
  std::optional<Operand> tensor(int argument) {
    const auto found = std::ranges::find_if(call_.tensors, [&](const ValuePlace& place) {
      return place.at == argument && place.item < 0;
    });
    if (found == call_.tensors.end()) return std::nullopt;
    return builder_.operand(found->value);
  }
  // A number argument; as float32, since that is what ATen computes with.
  std::optional<float> number(int argument) const {
    const c10::IValue& value = call_.arguments[at(argument)];
    if (value.isDouble()) return static_cast<float>(value.toDouble());
    if (value.isInt()) return static_cast<float>(value.toInt());
    return std::nullopt;
  }
  bool is_none(int argument) const {
    return call_.arguments[at(argument)].isNone() &&
           std::ranges::none_of(call_.tensors,
                                [&](const ValuePlace& place) { return place.at == argument; });
  }
  bool set(std::optional<Operand> result) { return result && builder_.set(target(), *result); }

  template <class... Operands>
  std::optional<Operand> compute(Operation operation, Operands... operands) {
    const std::vector<std::optional<Operand>> given{operands...};
    std::vector<Operand> list;
    for (const auto& operand : given) {
      if (!operand) return std::nullopt;
      list.push_back(*operand);
    }
    return builder_.region_.add(operation, std::move(list));
  }
  std::optional<Operand> constant(std::optional<float> value) {
    if (!value) return std::nullopt;
    return builder_.region_.add_constant(*value);
  }

 private:
  int target() const {
    return call_.written.empty() ? call_.results.front().value : call_.written.front();
  }

  RegionBuilder& builder_;
  const RecordedCall& call_;
};

namespace {

using Rule = bool (*)(Formula& formula);

template <Operation kOperation>
bool unary(Formula& f) {
  return f.set(f.compute(kOperation, f.tensor(0)));
}

template <Operation kOperation>
bool binary(Formula& f) {
  return f.set(f.compute(kOperation, f.tensor(0), f.tensor(1)));
}

template <Operation kOperation>
bool binary_with_number(Formula& f) {
  return f.set(f.compute(kOperation, f.tensor(0), f.constant(f.number(1))));
}

std::optional<Operand> sum(Formula& f, std::optional<Operand> a, std::optional<Operand> b,
                           float alpha) {
  if (alpha == 1) return f.compute(Operation::kAdd, a, b);
  if (alpha == -1) return f.compute(Operation::kSubtract, a, b);
  return f.compute(Operation::kAddScaled, a, b, f.constant(alpha));
}

// self, other, alpha
template <int kSign>
bool add(Formula& f) {
  const auto alpha = f.number(2);
  return alpha && f.set(sum(f, f.tensor(0), f.tensor(1), kSign * *alpha));
}

template <int kSign>
bool add_number(Formula& f) {
  const auto alpha = f.number(2);
  return alpha && f.set(sum(f, f.tensor(0), f.constant(f.number(1)), kSign * *alpha));
}

// self, tensor1, tensor2, value
template <Operation kOperation>
bool add_of_two(Formula& f) {
  return f.set(
      f.compute(kOperation, f.tensor(0), f.tensor(1), f.tensor(2), f.constant(f.number(3))));
}

bool square(Formula& f) {
  if (f.number(1) != 2.0F) return false;
  const auto self = f.tensor(0);
  return f.set(f.compute(Operation::kMultiply, self, self));
}

// grad, self, threshold
bool threshold_backward(Formula& f) {
  return f.set(
      f.compute(Operation::kThresholdBackward, f.tensor(0), f.tensor(1), f.constant(f.number(2))));
}

// self, source
bool copy(Formula& f) { return f.set(f.compute(Operation::kCopy, f.tensor(1))); }

// condition, self, other
bool where(Formula& f) {
  return f.set(f.compute(Operation::kSelect, f.tensor(0), f.tensor(1), f.tensor(2)));
}

// self, mask, value
bool masked_fill(Formula& f) {
  return f.set(f.compute(Operation::kSelect, f.tensor(1), f.constant(f.number(2)), f.tensor(0)));
}

// Not sqrt: LibTorch takes it from MKL, whose last bit is its own. Not maximum and minimum: which
// of two zeros they give depends on the place in the tensor.
const std::unordered_map<std::string_view, Rule>& rules() {
  using enum Operation;
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"aten::clone", &unary<kCopy>},
      {"aten::copy_", &copy},
      {"aten::neg", &unary<kNegate>},
      {"aten::neg_", &unary<kNegate>},
      {"aten::abs", &unary<kAbsolute>},
      {"aten::abs_", &unary<kAbsolute>},
      {"aten::reciprocal", &unary<kReciprocal>},
      {"aten::reciprocal_", &unary<kReciprocal>},
      {"aten::rsqrt", &unary<kReciprocalRoot>},
      {"aten::relu", &unary<kRelu>},
      {"aten::relu_", &unary<kRelu>},
      {"aten::pow.Tensor_Scalar", &square},
      {"aten::add.Tensor", &add<1>},
      {"aten::add_.Tensor", &add<1>},
      {"aten::add.Scalar", &add_number<1>},
      {"aten::add_.Scalar", &add_number<1>},
      {"aten::sub.Tensor", &add<-1>},
      {"aten::sub_.Tensor", &add<-1>},
      {"aten::mul.Tensor", &binary<kMultiply>},
      {"aten::mul_.Tensor", &binary<kMultiply>},
      {"aten::mul.Scalar", &binary_with_number<kMultiply>},
      {"aten::mul_.Scalar", &binary_with_number<kMultiply>},
      {"aten::div.Tensor", &binary<kDivide>},
      {"aten::div_.Tensor", &binary<kDivide>},
      {"aten::div.Scalar", &binary_with_number<kDivide>},
      {"aten::div_.Scalar", &binary_with_number<kDivide>},
      {"aten::tanh_backward", &binary<kTanhBackward>},
      {"aten::sigmoid_backward", &binary<kSigmoidBackward>},
      {"aten::threshold_backward", &threshold_backward},
      {"aten::addcmul", &add_of_two<kAddProduct>},
      {"aten::addcmul_", &add_of_two<kAddProduct>},
      {"aten::addcdiv", &add_of_two<kAddQuotient>},
      {"aten::addcdiv_", &add_of_two<kAddQuotient>},
      {"aten::where.self", &where},
      {"aten::masked_fill.Scalar", &masked_fill},
      {"aten::masked_fill_.Scalar", &masked_fill},
  };
  return kRules;
}

Rule rule_of(const RecordedCall& call) {
  const auto found = rules().find(call.name());
  return found == rules().end() ? nullptr : found->second;
}

bool covers_once(const Geometry& geometry) {
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] > 1 && geometry.strides[i] == 0) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<int64_t>> pointwise_sizes(const Record& record,
                                                    const RecordedCall& call) {
  if (rule_of(call) == nullptr || call.is_view) return std::nullopt;
  if (call.results.size() + call.written.size() != 1) return std::nullopt;
  const int target = call.written.empty() ? call.results[0].value : call.written[0];
  const Geometry& geometry = record.values[at(target)].geometry;
  if (geometry.dtype != at::kFloat || !covers_once(geometry)) return std::nullopt;
  RegionBuilder alone(record, geometry.sizes);
  if (!alone.add(call)) return std::nullopt;
  return geometry.sizes;
}

RegionBuilder::RegionBuilder(const Record& record, std::vector<int64_t> sizes) : record_(record) {
  region_.sizes = std::move(sizes);
}

// The strides of a tensor that is broadcast to the region.
std::optional<std::vector<int64_t>> RegionBuilder::strides_of(const Geometry& geometry) const {
  const size_t dims = region_.sizes.size();
  if (geometry.sizes.size() > dims) return std::nullopt;
  std::vector<int64_t> out(dims, 0);
  const size_t missing = dims - geometry.sizes.size();
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] == 1) continue;
    if (geometry.sizes[i] != region_.sizes[missing + i]) return std::nullopt;
    out[missing + i] = geometry.strides[i];
  }
  return out;
}

std::optional<Operand> RegionBuilder::operand(int number) {
  if (const auto found = current_.find(number); found != current_.end()) return found->second;
  const Value& value = record_.values[at(number)];
  if (value.origin == Origin::kConstant) {
    const at::Tensor& constant = record_.constants[at(value.source)];
    if (constant.numel() == 1 && !constant.is_complex()) {
      return region_.add_constant(static_cast<float>(constant.item<double>()));
    }
  }
  if (written_storages_.contains(value.storage)) return std::nullopt;
  const bool is_mask = value.geometry.dtype == at::kBool;
  if (value.geometry.dtype != at::kFloat && !is_mask) return std::nullopt;
  const auto strides = strides_of(value.geometry);
  if (!strides) return std::nullopt;
  const auto [read, is_new] = read_from_.try_emplace(value.storage, number);
  if (!is_new && read->second != number) read->second = -1;
  auto place = std::ranges::find(inputs_, number);
  if (place == inputs_.end()) {
    inputs_.push_back(number);
    region_.inputs.push_back(
        {.type = is_mask ? compile::Type::kBool : compile::Type::kFloat32, .strides = *strides});
    place = inputs_.end() - 1;
  }
  return Operand{.kind = Operand::Kind::kInput, .index = static_cast<int>(place - inputs_.begin())};
}

bool RegionBuilder::set(int number, Operand result) {
  const Value& value = record_.values[at(number)];
  if (value.geometry.sizes != region_.sizes) return false;
  const bool is_written_elsewhere =
      written_storages_.contains(value.storage) && !current_.contains(number);
  const auto read = read_from_.find(value.storage);
  if (is_written_elsewhere || (read != read_from_.end() && read->second != number)) return false;
  written_storages_.insert(value.storage);
  current_[number] = result;
  return true;
}

bool RegionBuilder::add(const RecordedCall& call) {
  const Rule rule = rule_of(call);
  if (rule == nullptr) return false;
  const auto& arguments = call.op.schema().arguments();
  // The masks of where and masked_fill are the only tensors of another dtype.
  for (const ValuePlace& place : call.tensors) {
    const std::string& name = arguments[at(place.at)].name();
    const Value& value = record_.values[at(place.value)];
    const bool may_be_mask = name == "condition" || name == "mask";
    if (value.origin == Origin::kConstant && value.geometry.sizes.empty()) continue;
    if (value.geometry.dtype != (may_be_mask ? at::kBool : at::kFloat)) return false;
  }
  Formula formula(*this, call);
  return rule(formula);
}

RegionBuilder::Built RegionBuilder::build(const std::vector<bool>& is_needed) const {
  Built out{.region = region_, .inputs = inputs_, .outputs = {}};
  for (const auto& [number, operand] : current_) {
    if (!is_needed[at(number)]) continue;
    Operand from = operand;
    if (from.kind != Operand::Kind::kInstruction) {
      from = out.region.add(Operation::kCopy, {operand});
    }
    const auto shared = std::ranges::find(inputs_, number);
    out.outputs.push_back(number);
    out.region.outputs.push_back(
        {.from = from,
         .tensor = {.type = compile::Type::kFloat32,
                    .strides = *strides_of(record_.values[at(number)].geometry)},
         .shared_input =
             shared == inputs_.end() ? -1 : static_cast<int>(shared - inputs_.begin())});
  }
  out.region.remove_dead();
  // The first output's order of memory is the order of elements.
  if (out.region.outputs.empty()) return out;
  std::vector<size_t> order(region_.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t> strides = out.region.outputs[0].tensor.strides;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  const auto permute = [&](std::vector<int64_t>& list) {
    std::vector<int64_t> permuted;
    for (const size_t dim : order) permuted.push_back(list[dim]);
    list = std::move(permuted);
  };
  permute(out.region.sizes);
  for (compile::RegionTensor& input : out.region.inputs) permute(input.strides);
  for (compile::Output& output : out.region.outputs) permute(output.tensor.strides);
  RT_CHECK(out.region.valid());
  return out;
}

}  // namespace rtrain::engine
