#include "host/engine/unsafe_operators.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/tensor.h"

namespace rtrain {
namespace {

using torch::jit::Stack;

struct Refusal {
  std::string_view
      names;  // separated by spaces; "mkldnn_*" are all that begin so, "*_jvp" all that end so
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
     "choose_qparams_optimized",
     "it is a part of quantization, which is not here"},
};

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
  require(fits,
          cat("lu_unpack: LU_pivots must be of shape (*, min(m, n)) where LU_data is (*, m, n): "
              "LU_data is ",
              describe(data), ", LU_pivots ", describe(pivots)));
}

// A complex matrix that is not finite ends in LAPACK.
void check_finite_matrix(const Stack& stack) {
  const at::Tensor& self = stack[0].toTensor();
  require(!self.is_cpu() || at::isfinite(self).all().item<bool>(),
          cat("linalg.eig: the matrix holds infinities or NaN: self is ", describe(self)));
}

// The lowest int64 has no opposite: LibTorch halves it for ever.
void check_matrix_power(const Stack& stack) {
  constexpr int64_t kMost = int64_t{1} << 62;
  const int64_t n = stack[1].toInt();
  require(-kMost <= n && n <= kMost, cat("matrix_power: n is out of range: ", n));
}

void check_native_batch_norm(const Stack& stack) {
  const at::Tensor& input = stack[0].toTensor();
  require(input.dim() >= 2,
          cat("native_batch_norm: input needs 2 dims or more, it is ", describe(input)));
  const auto given = [&stack](size_t i) {
    return stack[i].isTensor() && stack[i].toTensor().defined();
  };
  for (size_t i = 1; i <= 4; ++i) {
    require(!given(i) || stack[i].toTensor().numel() == input.size(1),
            cat("native_batch_norm: weight, bias, running_mean and running_var have one element "
                "for each of the ",
                input.size(1), " channels of the input"));
  }
  require(stack[5].toBool() || (given(3) && given(4)),
          "native_batch_norm: running_mean and running_var are needed where training is false");
}

void check_channel_shuffle(const Stack& stack) {
  const int64_t groups = stack[1].toInt();
  require(groups > 0, cat("native_channel_shuffle: groups must be positive, got ", groups));
}

void check_tensorsolve(const Stack& stack) {
  const at::Tensor& self = stack[0].toTensor();
  const at::Tensor& other = stack[1].toTensor();
  require(self.dim() >= other.dim(),
          cat("linalg.tensorsolve: self needs as many dims as other or more: self is ",
              describe(self), ", other ", describe(other)));
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
    {"native_channel_shuffle", &check_channel_shuffle},
    {"linalg_tensorsolve", &check_tensorsolve},
};

}  // namespace

std::string refusal(std::string_view name) {
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

}  // namespace rtrain
