#include "host/engine/recording/formula.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/engine/recording/functions.h"
#include "host/engine/recording/pointwise.h"

namespace rtrain::engine {

using compile::Operand;
using compile::Operation;

namespace {

using Maybe = std::optional<Operand>;

size_t at(int index) { return static_cast<size_t>(index); }

}  // namespace

std::optional<Operand> Formula::tensor(int argument) {
  const auto found = std::ranges::find_if(call_.tensors, [&](const ValuePlace& place) {
    return place.at == argument && place.item < 0;
  });
  if (found == call_.tensors.end()) return std::nullopt;
  return builder_.operand(found->value);
}

std::optional<float> Formula::number(int argument) const {
  const c10::IValue& value = call_.arguments[at(argument)];
  if (value.isDouble()) return static_cast<float>(value.toDouble());
  if (value.isInt()) return static_cast<float>(value.toInt());
  return std::nullopt;
}

std::string_view Formula::text(int argument) const {
  const c10::IValue& value = call_.arguments[at(argument)];
  return value.isString() ? value.toStringView() : std::string_view();
}

std::optional<Operand> Formula::constant(std::optional<float> value) {
  if (!value) return std::nullopt;
  return builder_.region_.add_constant(*value);
}

std::optional<Operand> Formula::instruction(
    Operation operation, std::initializer_list<std::optional<Operand>> operands) {
  std::vector<Operand> list;
  for (const auto& operand : operands) {
    if (!operand) return std::nullopt;
    list.push_back(*operand);
  }
  if (compile::is_function(operation)) {
    if (!functions().has(operation)) return std::nullopt;
    calls_functions_ = true;
    has_tail_ = has_tail_ || functions().at(operation).tail != nullptr;
  }
  return builder_.region_.add(operation, std::move(list));
}

bool Formula::set(std::optional<Operand> result) {
  const int target = call_.written.empty() ? call_.results.front().value : call_.written.front();
  return result && builder_.set(target, *result);
}

namespace {

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

Maybe sum(Formula& f, Maybe a, Maybe b, float alpha) {
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

// self, exponent
bool power(Formula& f) {
  using enum Operation;
  const Maybe self = f.tensor(0);
  const std::optional<float> exponent = f.number(1);
  if (exponent == 0.5F) return f.set(f.compute(kSqrt, self));
  if (exponent == -0.5F) return f.set(f.compute(kReciprocalRoot, self));
  if (exponent == -1.0F) return f.set(f.compute(kReciprocal, self));
  if (exponent == 2.0F) return f.set(f.compute(kMultiply, self, self));
  if (exponent == 3.0F) {
    return f.set(f.compute(kMultiply, f.compute(kMultiply, self, self), self));
  }
  return false;
}

Maybe sigmoid_of(Formula& f, Maybe a) {
  return f.compute(Operation::kReciprocal, f.compute(Operation::kSigmoidDivisor, a));
}

bool sigmoid(Formula& f) { return f.set(sigmoid_of(f, f.tensor(0))); }

bool silu(Formula& f) {
  const Maybe self = f.tensor(0);
  return f.set(f.compute(Operation::kDivide, self, f.compute(Operation::kSigmoidDivisor, self)));
}

// grad, self
bool silu_backward(Formula& f) {
  const Maybe self = f.tensor(1);
  return f.set(f.compute(Operation::kSiluBackward, f.tensor(0), self, sigmoid_of(f, self)));
}

// self, approximate. Only 'tanh': the other one is oneDNN's, whose bits are its own.
bool gelu(Formula& f) {
  if (f.text(1) != "tanh") return false;
  const Maybe self = f.tensor(0);
  return f.set(f.compute(Operation::kGelu, self, f.compute(Operation::kGeluTanh, self)));
}

// grad, self, approximate
bool gelu_backward(Formula& f) {
  if (f.text(2) != "tanh") return false;
  const Maybe self = f.tensor(1);
  return f.set(f.compute(Operation::kGeluBackward, f.tensor(0), self,
                         f.compute(Operation::kGeluTanh, self)));
}

// self, beta, threshold: self where self · β > threshold, else log(1 + exp(self · β)) / β
bool softplus(Formula& f) {
  using enum Operation;
  const Maybe self = f.tensor(0);
  const Maybe beta = f.constant(f.number(1));
  const Maybe scaled = f.compute(kMultiply, self, beta);
  const Maybe sum = f.compute(kLog1pInKernel, f.compute(kExpInKernel, scaled));
  return f.set(f.compute(kSelect, f.compute(kGreater, scaled, f.constant(f.number(2))), self,
                         f.compute(kDivide, sum, beta)));
}

// grad, self, beta, threshold
bool softplus_backward(Formula& f) {
  using enum Operation;
  const Maybe grad = f.tensor(0);
  const Maybe scaled = f.compute(kMultiply, f.tensor(1), f.constant(f.number(2)));
  const Maybe power = f.compute(kExpInKernel, scaled);
  const Maybe product = f.compute(kMultiply, grad, power);
  return f.set(f.compute(kSelect, f.compute(kGreater, scaled, f.constant(f.number(3))), grad,
                         f.compute(kDivide, product, f.compute(kAdd, power, f.constant(1)))));
}

// self · (1 where `of` > 0, else slope)
Maybe leaky(Formula& f, Maybe self, Maybe of, std::optional<float> slope) {
  using enum Operation;
  const Maybe factor =
      f.compute(kSelect, f.compute(kGreater, of, f.constant(0)), f.constant(1), f.constant(slope));
  return f.compute(kMultiply, self, factor);
}

// self, negative_slope
bool leaky_relu(Formula& f) {
  const Maybe self = f.tensor(0);
  return f.set(leaky(f, self, self, f.number(1)));
}

// grad, self, negative_slope
bool leaky_relu_backward(Formula& f) {
  return f.set(leaky(f, f.tensor(0), f.tensor(1), f.number(2)));
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

// Not maximum and minimum: which of two zeros they give depends on the place in the tensor.
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
      {"aten::pow.Tensor_Scalar", &power},
      {"aten::exp", &unary<kExp>},
      {"aten::exp_", &unary<kExp>},
      {"aten::log", &unary<kLog>},
      {"aten::log_", &unary<kLog>},
      {"aten::log1p", &unary<kLog1p>},
      {"aten::log1p_", &unary<kLog1p>},
      {"aten::expm1", &unary<kExpm1>},
      {"aten::tanh", &unary<kTanh>},
      {"aten::tanh_", &unary<kTanh>},
      {"aten::erf", &unary<kErf>},
      {"aten::sin", &unary<kSin>},
      {"aten::cos", &unary<kCos>},
      {"aten::sqrt", &unary<kSqrt>},
      {"aten::sqrt_", &unary<kSqrt>},
      {"aten::sigmoid", &sigmoid},
      {"aten::sigmoid_", &sigmoid},
      {"aten::silu", &silu},
      {"aten::silu_", &silu},
      {"aten::silu_backward", &silu_backward},
      {"aten::gelu", &gelu},
      {"aten::gelu_backward", &gelu_backward},
      {"aten::softplus", &softplus},
      {"aten::softplus_backward", &softplus_backward},
      {"aten::leaky_relu", &leaky_relu},
      {"aten::leaky_relu_", &leaky_relu},
      {"aten::leaky_relu_backward", &leaky_relu_backward},
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

}  // namespace

Rule rule_of(std::string_view name) {
  const auto found = rules().find(name);
  return found == rules().end() ? nullptr : found->second;
}

}  // namespace rtrain::engine
