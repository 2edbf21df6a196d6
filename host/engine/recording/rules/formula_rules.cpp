// The rules: what each of ATen's operators computes.
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "host/engine/recording/formula.h"
#include "host/engine/recording/functions.h"
#include "host/engine/recording/rules/norm_rules.h"

namespace rtrain::engine {

using compile::Operand;
using compile::Operation;

namespace {

using Maybe = std::optional<Operand>;

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

// A GPU's kernels multiply by the inverse of a number that the script gives.
Maybe quotient(Formula& f, Maybe a, Maybe b) {
  const Maybe inverse = f.is_on_gpu() ? f.inverse(b) : std::nullopt;
  if (inverse) return f.compute(Operation::kMultiply, a, inverse);
  return f.compute(Operation::kDivide, a, b);
}

bool divide(Formula& f) { return f.set(quotient(f, f.tensor(0), f.tensor(1))); }

bool divide_by_number(Formula& f) {
  return f.set(quotient(f, f.tensor(0), f.constant(f.number(1))));
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

// self, tensor1, tensor2, value. A GPU's kernel does not multiply by a value of 1.
template <Operation kOperation>
bool add_of_two(Formula& f) {
  if (kOperation == Operation::kAddProduct && f.is_on_gpu() && f.number(3) == 1.0F) {
    return f.set(f.compute(Operation::kAddScaled, f.tensor(0), f.tensor(1), f.tensor(2)));
  }
  return f.set(
      f.compute(kOperation, f.tensor(0), f.tensor(1), f.tensor(2), f.constant(f.number(3))));
}

// self, exponent
bool power(Formula& f) {
  using enum Operation;
  const Maybe self = f.tensor(0);
  const std::optional<float> exponent = f.number(1);
  if (exponent == 1.0F) return f.set(f.compute(kCopy, self));
  if (exponent == 0.5F) return f.set(f.compute(kSqrt, self));
  if (exponent == -0.5F) return f.set(f.compute(kReciprocalRoot, self));
  if (exponent == -1.0F) return f.set(f.compute(kReciprocal, self));
  if (exponent == 2.0F) return f.set(f.compute(kMultiply, self, self));
  if (exponent == 3.0F) {
    return f.set(f.compute(kMultiply, f.rounded(f.compute(kMultiply, self, self)), self));
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

// exp(-self² / 2) / √(2π): the density of a normal distribution.
Maybe normal_density(Formula& f, Maybe self) {
  using enum Operation;
  constexpr float kInverseRoot = 0.39894228040143268F;
  const Maybe square = f.compute(kMultiply, self, self);
  const Maybe exp = f.compute(kExp, f.compute(kMultiply, square, f.constant(-0.5F)));
  return f.compute(kMultiply, exp, f.constant(kInverseRoot));
}

// self, approximate. Without 'tanh' it is oneDNN's, whose bits are its own: only for fast_math.
bool gelu(Formula& f) {
  const Maybe self = f.tensor(0);
  if (f.text(1) == "tanh") {
    return f.set(f.compute(Operation::kGelu, self, f.compute(Operation::kGeluTanh, self)));
  }
  return f.set(f.compute(Operation::kMultiply, self, f.compute(Operation::kNormalShare, self)));
}

// grad, self, approximate
bool gelu_backward(Formula& f) {
  const Maybe grad = f.tensor(0);
  const Maybe self = f.tensor(1);
  if (f.text(2) == "tanh") {
    return f.set(
        f.compute(Operation::kGeluBackward, grad, self, f.compute(Operation::kGeluTanh, self)));
  }
  const Maybe slope = f.compute(Operation::kAddScaled, f.compute(Operation::kNormalShare, self),
                                self, normal_density(f, self));
  return f.set(f.compute(Operation::kMultiply, grad, slope));
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

// grad, output: a · (1 - b²). With 16 bits each of the operations is rounded.
bool tanh_backward(Formula& f) {
  using enum Operation;
  if (!f.is_narrow()) return binary<kTanhBackward>(f);
  const Maybe output = f.tensor(1);
  const Maybe square = f.rounded(f.compute(kMultiply, output, output));
  const Maybe slope = f.rounded(f.compute(kSubtract, f.constant(1), square));
  return f.set(f.compute(kMultiply, f.tensor(0), slope));
}

// grad, output: a · (1 - b) · b
bool sigmoid_backward(Formula& f) {
  using enum Operation;
  if (!f.is_narrow()) return binary<kSigmoidBackward>(f);
  const Maybe output = f.tensor(1);
  const Maybe rest = f.rounded(f.compute(kSubtract, f.constant(1), output));
  return f.set(f.compute(kMultiply, f.rounded(f.compute(kMultiply, f.tensor(0), rest)), output));
}

// grad, self, threshold, which is of the tensors' type
bool threshold_backward(Formula& f) {
  if (f.is_narrow() && f.number(2) != 0.0F) return false;
  return f.set(
      f.compute(Operation::kThresholdBackward, f.tensor(0), f.tensor(1), f.constant(f.number(2))));
}

// self, source
bool copy(Formula& f) { return f.set(f.compute(Operation::kCopy, f.tensor(1))); }

// self, dtype, layout, device, pin_memory, non_blocking, memory_format: to another type
bool cast(Formula& f) { return f.is_on_gpu() && f.set(f.compute(Operation::kCopy, f.tensor(0))); }

bool zero(Formula& f) { return f.set(f.constant(0.0F)); }

// condition, self, other
bool where(Formula& f) {
  return f.set(f.compute(Operation::kSelect, f.tensor(0), f.tensor(1), f.tensor(2)));
}

// self, mask, value
bool masked_fill(Formula& f) {
  return f.set(f.compute(Operation::kSelect, f.tensor(1), f.constant(f.number(2)), f.tensor(0)));
}

bool is_last_dim(const Formula& f, int64_t dim) {
  const auto dims = static_cast<int64_t>(f.num_dims());
  return f.width() > 0 && (dim == -1 || dim == dims - 1);
}

// self, dim, half_to_float
template <Operation kOperation>
bool softmax(Formula& f) {
  const bool widens = f.argument(2).toBool();
  if (!is_last_dim(f, f.integer(1)) || (widens && !f.is_on_gpu())) return false;
  return f.set(f.compute(kOperation, f.tensor(0)));
}

// self, dim, dtype: softmax, but for rows that are all -inf, which give 0
bool safe_softmax(Formula& f) {
  using enum Operation;
  if (!is_last_dim(f, f.integer(1)) || !f.is_none(2)) return false;
  const Maybe self = f.tensor(0);
  const Maybe is_masked = f.compute(kEqual, f.compute(kRowMaximum, self),
                                    f.constant(-std::numeric_limits<float>::infinity()));
  return f.set(f.compute(kSelect, is_masked, f.constant(0), f.compute(kSoftmax, self)));
}

// grad, output, dim, input_dtype
template <Operation kOperation>
bool softmax_backward(Formula& f) {
  const bool has_products = kOperation == Operation::kSoftmaxBackward;
  if (!is_last_dim(f, f.integer(2)) || (has_products && !f.rows_fill_vectors())) return false;
  if (has_products && f.is_narrow()) {
    using enum Operation;  // the products are a tensor of ATen's
    const Maybe product = f.rounded(f.compute(kMultiply, f.tensor(0), f.tensor(1)));
    const Maybe sum = f.compute(kRowSum, product);
    return f.set(f.compute(kSubtractProduct, product, f.tensor(1), sum));
  }
  return f.set(f.compute(kOperation, f.tensor(0), f.tensor(1)));
}

// Whether the dims are the last one, which stays with one number. LibTorch's threads divide a
// single row.
bool keeps_rows(const Formula& f, int dims, int keepdim) {
  const bool is_divided = !f.is_on_gpu() && f.num_elements() == f.width() && f.width() >= kGrain;
  if (is_divided || !f.argument(dims).isIntList() || !f.argument(keepdim).toBool()) return false;
  const std::vector<int64_t> list = f.argument(dims).toIntVector();
  return list.size() == 1 && is_last_dim(f, list[0]);
}

// Whether the dims are all but the last one. Columns that fill no group of vectors have another
// order of their sum.
bool sums_columns(const Formula& f, int dims) {
  constexpr int64_t kGroup = 32;
  if (f.is_on_gpu() || f.width() == 0 || f.width() % kGroup != 0) return false;
  if (!f.argument(dims).isIntList() || f.num_elements() <= f.width()) return false;
  const auto num_dims = static_cast<int64_t>(f.num_dims());
  std::set<int64_t> found;
  for (const int64_t dim : f.argument(dims).toIntVector()) {
    found.insert(dim < 0 ? dim + num_dims : dim);
  }
  return std::ssize(found) == num_dims - 1 && !found.contains(num_dims - 1);
}

// self, dim, keepdim, dtype
bool sum_of_dims(Formula& f) {
  using enum Operation;
  if (!f.is_none(3)) return false;
  if (sums_columns(f, 1)) return f.set(f.compute(kColumnCascade, f.tensor(0)));
  return keeps_rows(f, 1, 2) && f.set(f.compute(kRowSum, f.tensor(0)));
}

// self, dim, keepdim, dtype
bool mean_of_rows(Formula& f) {
  if (!keeps_rows(f, 1, 2) || !f.is_none(3)) return false;
  const Maybe width = f.constant(static_cast<float>(f.width()));
  return f.set(quotient(f, f.compute(Operation::kRowSum, f.tensor(0)), width));
}

// self, dim, keepdim
bool maximum_of_rows(Formula& f) {
  return keeps_rows(f, 1, 2) && f.set(f.compute(Operation::kRowMaximum, f.tensor(0)));
}

// grad_output, input_sizes, dim, start, end, step
bool slice_backward(Formula& f) {
  if (!is_last_dim(f, f.integer(2)) || f.integer(5) != 1) return false;
  return f.set(f.compute(Operation::kCopy, f.window(0, f.integer(3))));
}

// self, shifts, dims
bool roll(Formula& f) {
  const std::vector<int64_t> shifts = f.argument(1).toIntVector();
  const std::vector<int64_t> dims = f.argument(2).toIntVector();
  if (shifts.size() != 1 || dims.size() != 1 || !is_last_dim(f, dims[0])) return false;
  const int64_t shift = (shifts[0] % f.width() + f.width()) % f.width();
  const int64_t first_column = shift == 0 ? 0 : f.width() - shift;
  return f.set(f.compute(Operation::kCopy, f.rolled(0, first_column)));
}

// grad_output, self, target, weight, reduction, ignore_index, total_weight: the gradient at the
// place of each row's class
bool nll_loss_backward(Formula& f) {
  using enum Operation;
  constexpr int64_t kMeanOfRows = 1;       // at::Reduction::Mean
  constexpr int64_t kMostExact = 1 << 24;  // integers that float32 has
  const int64_t ignored = f.integer(5);
  const bool is_mean = f.integer(4) == kMeanOfRows;
  if (!is_last_dim(f, -1) || f.num_dims() != 2 || !f.is_none(3) || !is_mean ||
      f.width() > kMostExact || (ignored >= 0 && ignored < f.width())) {
    return false;
  }
  const Maybe grad = f.compute(kNegate, f.compute(kDivide, f.tensor(0), f.tensor(6)));
  const Maybe is_class = f.compute(kEqual, f.compute(kColumnIndex), f.row_tensor(2));
  return f.set(f.compute(kSelect, is_class, grad, f.constant(0)));
}

// input, p, train: input · mask / (1 - p), and the mask
bool dropout(Formula& f) {
  using enum Operation;
  const auto p = f.argument(1).toDouble();
  const bool is_eval = !f.argument(2).isNone() && !f.argument(2).toBool();
  if (!f.is_on_gpu() || is_eval || p <= 0 || p >= 1) return false;
  const auto kept = static_cast<float>(1 - p);
  const auto scale = static_cast<float>(1 / static_cast<double>(kept));
  const Maybe mask = f.compute(kGreater, f.constant(kept), f.draw(0));
  const Maybe product = f.compute(kMultiply, f.tensor(0), mask);
  return f.set(0, f.compute(kMultiply, product, f.constant(scale))) && f.set(1, mask);
}

// grad_output, mask, scale: only a GPU's dropout is one operator.
bool dropout_backward(Formula& f) {
  using enum Operation;
  if (!f.is_on_gpu()) return false;
  const Maybe kept = f.compute(kMultiply, f.tensor(0), f.tensor(1));
  return f.set(f.compute(kMultiply, kept, f.constant(f.number(2))));
}

// Not maximum and minimum: which of two zeros they give depends on the place in the tensor.
const std::unordered_map<std::string_view, Rule>& rules() {
  using enum Operation;
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"aten::clone", {&unary<kCopy>}},
      {"aten::copy_", {&copy}},
      {"aten::_to_copy", {&cast}},
      {"aten::zero_", {&zero}},
      {"aten::neg", {&unary<kNegate>}},
      {"aten::neg_", {&unary<kNegate>}},
      {"aten::abs", {&unary<kAbsolute>}},
      {"aten::abs_", {&unary<kAbsolute>}},
      {"aten::reciprocal", {&unary<kReciprocal>}},
      {"aten::reciprocal_", {&unary<kReciprocal>}},
      {"aten::rsqrt", {&unary<kReciprocalRoot>}},
      {"aten::relu", {&unary<kRelu>}},
      {"aten::relu_", {&unary<kRelu>}},
      {"aten::pow.Tensor_Scalar", {&power}},
      {"aten::exp", {&unary<kExp>}},
      {"aten::exp_", {&unary<kExp>}},
      {"aten::log", {&unary<kLog>}},
      {"aten::log_", {&unary<kLog>}},
      {"aten::log1p", {&unary<kLog1p>}},
      {"aten::log1p_", {&unary<kLog1p>}},
      {"aten::expm1", {&unary<kExpm1>}},
      {"aten::tanh", {&unary<kTanh>}},
      {"aten::tanh_", {&unary<kTanh>}},
      {"aten::erf", {&unary<kErf>}},
      {"aten::sin", {&unary<kSin>}},
      {"aten::cos", {&unary<kCos>}},
      {"aten::sqrt", {&unary<kSqrt>}},
      {"aten::sqrt_", {&unary<kSqrt>}},
      {"aten::sigmoid", {&sigmoid}},
      {"aten::sigmoid_", {&sigmoid}},
      {"aten::silu", {&silu}},
      {"aten::silu_", {&silu}},
      {"aten::silu_backward", {&silu_backward}},
      {"aten::gelu", {&gelu}},
      {"aten::gelu_backward", {&gelu_backward}},
      {"aten::_softmax", {&softmax<kSoftmax>}},
      {"aten::_safe_softmax", {&safe_softmax}},
      {"aten::_softmax_backward_data", {&softmax_backward<kSoftmaxBackward>}},
      {"aten::_log_softmax", {&softmax<kLogSoftmax>}},
      {"aten::_log_softmax_backward_data", {&softmax_backward<kLogSoftmaxBackward>}},
      {"aten::sum.dim_IntList", {.add = &sum_of_dims, .reduces = true}},
      {"aten::mean.dim", {.add = &mean_of_rows, .reduces = true}},
      {"aten::amax", {.add = &maximum_of_rows, .reduces = true}},
      {"aten::roll", {&roll}},
      {"aten::slice_backward", {&slice_backward}},
      {"aten::nll_loss_backward", {&nll_loss_backward}},
      {"aten::native_layer_norm", {&add_layer_norm}},
      {"aten::native_layer_norm_backward", {&add_layer_norm_backward}},
      {"aten::softplus", {&softplus}},
      {"aten::softplus_backward", {&softplus_backward}},
      {"aten::leaky_relu", {&leaky_relu}},
      {"aten::leaky_relu_", {&leaky_relu}},
      {"aten::leaky_relu_backward", {&leaky_relu_backward}},
      {"aten::add.Tensor", {&add<1>}},
      {"aten::add_.Tensor", {&add<1>}},
      {"aten::add.Scalar", {&add_number<1>}},
      {"aten::add_.Scalar", {&add_number<1>}},
      {"aten::sub.Tensor", {&add<-1>}},
      {"aten::sub_.Tensor", {&add<-1>}},
      {"aten::mul.Tensor", {&binary<kMultiply>}},
      {"aten::mul_.Tensor", {&binary<kMultiply>}},
      {"aten::mul.Scalar", {&binary_with_number<kMultiply>}},
      {"aten::mul_.Scalar", {&binary_with_number<kMultiply>}},
      {"aten::div.Tensor", {&divide}},
      {"aten::div_.Tensor", {&divide}},
      {"aten::div.Scalar", {&divide_by_number}},
      {"aten::div_.Scalar", {&divide_by_number}},
      {"aten::tanh_backward", {&tanh_backward}},
      {"aten::sigmoid_backward", {&sigmoid_backward}},
      {"aten::threshold_backward", {&threshold_backward}},
      {"aten::addcmul", {&add_of_two<kAddProduct>}},
      {"aten::addcmul_", {&add_of_two<kAddProduct>}},
      {"aten::addcdiv", {&add_of_two<kAddQuotient>}},
      {"aten::addcdiv_", {&add_of_two<kAddQuotient>}},
      {"aten::native_dropout", {&dropout}},
      {"aten::native_dropout_backward", {&dropout_backward}},
      {"aten::where.self", {&where}},
      {"aten::masked_fill.Scalar", {&masked_fill}},
      {"aten::masked_fill_.Scalar", {&masked_fill}},
  };
  return kRules;
}

}  // namespace

const Rule* rule_of(std::string_view name) {
  const auto found = rules().find(name);
  return found == rules().end() ? nullptr : &found->second;
}

}  // namespace rtrain::engine
