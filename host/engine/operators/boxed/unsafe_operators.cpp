#include "host/engine/operators/boxed/unsafe_operators.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

using torch::jit::Stack;

struct Refusal {
  std::string_view names;  // separated by spaces; "mkldnn_*" matches prefixes, "*_jvp" suffixes
  std::string_view reason;
};

constexpr Refusal kRefusals[] = {
    {"align_tensors align_as align_to refine_names rename rename_", "dims have no names here"},
    {"copy_sparse_to_sparse copy_sparse_to_sparse_", "it is internal: use copy_"},
    {"*_backward *_forward *_jvp",
     "it is a part of autograd's formulas: call the operator itself and backward()"},
    {"mkldnn_* to_mkldnn mps_* *_mps miopen_* cudnn_* fbgemm_*",
     "it is LibTorch's entry to another library: use the operator without that prefix"},
    {"quantized_lstm_cell quantized_gru_cell quantized_rnn_relu_cell quantized_rnn_tanh_cell "
     "choose_qparams_optimized fused_moving_avg_obs_fake_quant",
     "it is a part of quantization, which is not here"},
};

// What torch.nn.attention.varlen calls: no other operator calls it for packed tensors.
constexpr std::string_view kPackedAttention = "_flash_attention_forward";

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  return name == pattern;
}

bool holds_match(std::string_view patterns, std::string_view name) {
  while (!patterns.empty()) {
    const size_t end = std::min(patterns.find(' '), patterns.size());
    if (matches(patterns.substr(0, end), name)) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

void require(bool condition, const std::string& message) {
  if (!condition) throw Error(Code::kArgument, message);
}

void check_lu_unpack(const Stack& stack) {
  const at::Tensor& data = stack[0].toTensor();
  const at::Tensor& pivots = stack[1].toTensor();
  const bool fits = data.dim() >= 2 && pivots.dim() == data.dim() - 1 &&
                    pivots.size(-1) == std::min(data.size(-2), data.size(-1)) &&
                    data.sizes().slice(0, static_cast<size_t>(data.dim() - 2)) ==
                        pivots.sizes().slice(0, static_cast<size_t>(pivots.dim() - 1));
  require(fits, "LU_pivots must be of shape (*, min(m, n)) where LU_data is (*, m, n)");
}

// LAPACK ends the process for a complex matrix that is not finite.
void check_finite_matrix(const Stack& stack) {
  const at::Tensor& self = stack[0].toTensor();
  require(!self.is_cpu() || at::isfinite(self).all().item<bool>(),
          "the matrix holds infinities or NaN");
}

// The lowest int64 has no negative: LibTorch would loop forever.
void check_matrix_power(const Stack& stack) {
  constexpr int64_t kMost = int64_t{1} << 62;
  const int64_t n = stack[1].toInt();
  require(-kMost <= n && n <= kMost, cat("n is out of range: ", n));
}

bool is_given(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

// Checks that the given tensors from `first` to `last` have one element per channel.
void check_channels(const Stack& stack, size_t first, size_t last) {
  const at::Tensor& input = stack[0].toTensor();
  require(input.dim() >= 2, cat("input needs 2 dims or more, it is ", describe(input)));
  for (size_t i = first; i <= last; ++i) {
    require(!is_given(stack[i]) || stack[i].toTensor().numel() == input.size(1),
            cat("weight, bias, running_mean and running_var have one element for each of the ",
                input.size(1), " channels of the input"));
  }
}

// (input, weight, bias, running_mean, running_var, training, …)
void check_native_batch_norm(const Stack& stack) {
  check_channels(stack, 1, 4);
  require(stack[5].toBool() || (is_given(stack[3]) && is_given(stack[4])),
          "running_mean and running_var are needed where training is false");
}

// The same with running_mean and running_var, or without both.
void check_batch_norm_legit(const Stack& stack) {
  stack[3].isBool() ? check_channels(stack, 1, 2) : check_native_batch_norm(stack);
}

// (input, weight, bias, running_mean, running_var, momentum, eps)
void check_batch_norm_of_all(const Stack& stack) { check_channels(stack, 1, 4); }

void check_batch_norm_no_update(const Stack& stack) {
  check_channels(stack, 1, 4);
  require(is_given(stack[3]) && is_given(stack[4]), "running_mean and running_var are needed");
}

// (input, running_mean, running_var, …)
void check_batch_norm_update_stats(const Stack& stack) { check_channels(stack, 1, 2); }

// LibTorch searches the dtype's next number above `from`, endlessly if there is none.
void check_random(const Stack& stack) {
  constexpr size_t kFrom = 4;
  if (stack.size() != kFrom) return;
  constexpr int64_t kMost = int64_t{1} << 62;
  require(stack[1].toInt() <= kMost, cat("from is out of range: ", stack[1].toInt()));
}

void check_channel_shuffle(const Stack& stack) {
  const int64_t groups = stack[1].toInt();
  require(groups > 0, cat("groups must be positive, got ", groups));
}

void check_tensorsolve(const Stack& stack) {
  require(stack[0].toTensor().dim() >= stack[1].toTensor().dim(),
          "self needs as many dims as other or more");
}

// A step that the dtype rounds to 0 would be a divisor.
void check_range(const Stack& stack) {
  constexpr size_t kWithStep = 7;
  if (stack.size() != kWithStep || !stack[3].isInt()) return;
  const auto dtype = static_cast<at::ScalarType>(stack[3].toInt());
  const double step = stack[2].toScalar().to<double>();
  require(!c10::isIntegralType(dtype, /*includeBool=*/true) || std::abs(step) >= 1,
          cat("a step of ", step, " is 0 in ", dtype_name(dtype)));
}

void check_embedding_bag(const Stack& stack) {
  const at::Tensor& offsets = stack[2].toTensor();
  const int64_t mode = stack[4].toInt();
  require(offsets.dim() == 1, cat("offsets must have 1 dim, it is ", describe(offsets)));
  require(0 <= mode && mode <= 2, cat("mode is 0 (sum), 1 (mean) or 2 (max), got ", mode));
}

void check_batch_sizes(const at::Tensor& data, const at::Tensor& sizes) {
  const bool fits = sizes.dim() == 1 && sizes.scalar_type() == at::kLong && sizes.is_cpu() &&
                    sizes.numel() > 0 && data.dim() == 2;
  require(fits,
          cat("batch_sizes must be int64 with 1 dim, and the data have 2 dims: batch_sizes is ",
              describe(sizes), ", data ", describe(data)));
  const at::Tensor counts = sizes.contiguous();
  const int64_t* count = counts.const_data_ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    require(count[i] > 0 && (i == 0 || count[i] <= count[i - 1]),
            "batch_sizes must be positive and never grow");
    total += count[i];
  }
  require(total == data.size(0),
          cat("batch_sizes add up to ", total, ", the data has ", data.size(0), " rows"));
}

// Recurrent networks: (input, hx, params, …) for padded batches, (data, batch_sizes, hx, params, …)
// for packed ones. Layers read parameters and states without checking that they exist.
void check_recurrent(const Stack& stack) {
  const bool packed = stack[3].isList();
  const size_t first = packed ? 2 : 1;  // hx, params, has_biases, num_layers
  if (packed) check_batch_sizes(stack[0].toTensor(), stack[1].toTensor());
  require(packed || stack[0].toTensor().dim() == 3,
          cat("the input must have 3 dims, it is ", describe(stack[0].toTensor())));
  const auto states = stack[first].isTensor() ? std::vector<at::Tensor>{stack[first].toTensor()}
                                              : stack[first].toTensorVector();
  const int64_t layers = stack[first + 3].toInt();
  const int64_t directions = stack[packed ? 8 : 7].toBool() ? 2 : 1;
  require(layers > 0, cat("num_layers must be positive, got ", layers));
  for (const at::Tensor& state : states) {
    require(
        state.dim() == 3 && state.size(0) / directions == layers && state.size(0) % directions == 0,
        cat("hx must be [num_layers * directions, batch, hidden_size], it is ", describe(state)));
  }
  const bool projected = states.size() == 2 && states[0].size(2) != states[1].size(2);
  const int64_t weights = (stack[first + 2].toBool() ? 4 : 2) + (projected ? 1 : 0);
  const auto given = static_cast<int64_t>(stack[first + 1].toListRef().size());
  require(
      given / weights / directions == layers && given % (weights * directions) == 0,
      cat("params: ", weights, " tensors for each layer and direction are needed, got ", given));
}

// LibTorch's check of a view's end against its storage overflows.
void check_extent(const Stack& stack, size_t first, int64_t offset) {
  if (!stack[first].isIntList() || !stack[first + 1].isIntList()) return;
  const auto sizes = stack[first].toIntVector();
  const auto strides = stack[first + 1].toIntVector();
  if (sizes.size() != strides.size() || std::ranges::count(sizes, 0) > 0) return;
  constexpr int64_t kMostBytesOfElement = 16;
  int64_t end = offset;
  bool wraps = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t extent = 0;
    wraps |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &extent);
    wraps |= __builtin_add_overflow(end, extent, &end);
  }
  require(!wraps && end < std::numeric_limits<int64_t>::max() / kMostBytesOfElement,
          "size, stride and storage_offset reach beyond any storage");
}

// (self, size, stride, storage_offset). as_strided_scatter has its source after self.
void check_as_strided(const Stack& stack) {
  const size_t first = stack[1].isTensor() ? 2 : 1;
  const at::Tensor& self = stack[0].toTensor();
  const bool given = stack[first + 2].isInt();
  const int64_t own = !given && self.layout() == at::kStrided ? self.storage_offset() : 0;
  check_extent(stack, first, given ? stack[first + 2].toInt() : own);
}

// (self, source, storage_offset, size, stride)
void check_set(const Stack& stack) {
  constexpr size_t kWithSizes = 5;
  if (stack.size() == kWithSizes && stack[2].isInt()) check_extent(stack, 3, stack[2].toInt());
}

// The range of slopes: (self, lower, upper, …). rrelu_with_noise has its noise after self.
void check_rrelu(const Stack& stack) {
  const size_t first = stack[1].isTensor() ? 2 : 1;
  const double lower = stack[first].toScalar().to<double>();
  const double upper = stack[first + 1].toScalar().to<double>();
  require(std::isfinite(upper - lower),
          cat("lower and upper must be finite, got ", lower, " and ", upper));
}

// (query, key, value, cum_seq_q, cum_seq_k, …): the kernel takes the rows of the last two as given.
void check_packed_attention(const Stack& stack) {
  const at::Tensor& query = stack[0].toTensor();
  for (const size_t i : {3, 4}) {
    require(is_given(stack[i]) && query.dim() == 3,
            "only packed tensors: with cum_seq_q, cum_seq_k");
    const at::Tensor& ends = stack[i].toTensor();
    require(ends.dim() == 1 && ends.scalar_type() == at::kInt && ends.is_contiguous() &&
                ends.device() == query.device() && ends.numel() == stack[3].toTensor().numel(),
            "cum_seq_q and cum_seq_k are int32, as long as each other, on the query's device");
  }
}

struct Check {
  std::string_view name;
  SafetyCheck check;
};

constexpr Check kChecks[] = {
    {"lu_unpack", &check_lu_unpack},
    {"linalg_eig", &check_finite_matrix},
    {"linalg_eigvals", &check_finite_matrix},
    {"matrix_power", &check_matrix_power},
    {"linalg_matrix_power", &check_matrix_power},
    {"native_batch_norm", &check_native_batch_norm},
    {"_native_batch_norm_legit", &check_batch_norm_legit},
    {"_native_batch_norm_legit_functional", &check_native_batch_norm},
    {"_native_batch_norm_legit_no_training", &check_batch_norm_of_all},
    {"_batch_norm_with_update", &check_batch_norm_of_all},
    {"_batch_norm_with_update_functional", &check_batch_norm_of_all},
    {"_batch_norm_no_update", &check_batch_norm_no_update},
    {"native_channel_shuffle", &check_channel_shuffle},
    {"linalg_tensorsolve", &check_tensorsolve},
    {"batch_norm_update_stats", &check_batch_norm_update_stats},
    {"random", &check_random},
    {"random_", &check_random},
    {"range", &check_range},
    {"as_strided", &check_as_strided},
    {"as_strided_", &check_as_strided},
    {"as_strided_copy", &check_as_strided},
    {"as_strided_scatter", &check_as_strided},
    {"set_", &check_set},
    {"rrelu", &check_rrelu},
    {"rrelu_", &check_rrelu},
    {"rrelu_with_noise", &check_rrelu},
    {"rrelu_with_noise_", &check_rrelu},
    {"embedding_bag", &check_embedding_bag},
    {"lstm", &check_recurrent},
    {"gru", &check_recurrent},
    {"rnn_tanh", &check_recurrent},
    {"rnn_relu", &check_recurrent},
    {kPackedAttention, &check_packed_attention},
};

}  // namespace

std::string refusal(std::string_view name) {
  if (name == kPackedAttention) return {};
  for (const Refusal& r : kRefusals) {
    if (holds_match(r.names, name)) return std::string(r.reason);
  }
  return {};
}

SafetyCheck find_safety_check(std::string_view name) {
  for (const Check& c : kChecks) {
    if (c.name == name) return c.check;
  }
  return nullptr;
}

}  // namespace rtrain::engine
