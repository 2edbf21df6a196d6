#include "host/engine/operators/row_product.h"

#include <ATen/Parallel.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

thread_local bool takes_row_products = false;

// Sixteen numbers at any address.
using Floats [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int64_t kLanes = 16;
constexpr int64_t kAtOnce = 4;

// Four sums at a time: one would wait for itself.
[[gnu::always_inline]] inline float dot(const float* a, const float* b, int64_t count) {
  Floats sums[kAtOnce] = {};
  int64_t i = 0;
  for (; i + kAtOnce * kLanes <= count; i += kAtOnce * kLanes) {
    for (int64_t k = 0; k < kAtOnce; ++k) {
      const int64_t at = i + k * kLanes;
      sums[k] +=
          *reinterpret_cast<const Floats*>(a + at) * *reinterpret_cast<const Floats*>(b + at);
    }
  }
  const Floats sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float out = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) out += sum[lane];
  for (; i < count; ++i) out += a[i] * b[i];
  return out;
}

struct Product {
  const float* x;
  const float* weight;
  const float* bias;  // null for none
  float* out;
  int64_t width;
};

[[gnu::always_inline]] inline void rows(const Product& of, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float sum = dot(of.x, of.weight + row * of.width, of.width);
    of.out[row] = of.bias == nullptr ? sum : sum + of.bias[row];
  }
}

using Rows = void (*)(const Product& of, int64_t begin, int64_t end);

void plain_rows(const Product& of, int64_t begin, int64_t end) { rows(of, begin, end); }

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void avx2_rows(const Product& of, int64_t begin, int64_t end) {
  rows(of, begin, end);
}

[[gnu::target("avx512f")]] void avx512_rows(const Product& of, int64_t begin, int64_t end) {
  rows(of, begin, end);
}
#endif

Rows rows_of_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return &avx512_rows;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2_rows;
#endif
  return &plain_rows;
}

// changed: the result; read: the row, the weight and, where there is one, the bias.
void multiply(const std::vector<at::Tensor>& changed, const std::vector<at::Tensor>& read) {
  const int64_t width = read[1].size(1);
  const Product of{.x = read[0].const_data_ptr<float>(),
                   .weight = read[1].const_data_ptr<float>(),
                   .bias = read.size() > 2 ? read[2].const_data_ptr<float>() : nullptr,
                   .out = changed[0].mutable_data_ptr<float>(),
                   .width = width};
  static const Rows kRows = rows_of_processor();
  constexpr int64_t kNumbersOfThread = int64_t{1} << 16;
  at::parallel_for(0, read[1].size(0),
                   std::max<int64_t>(1, kNumbersOfThread / std::max<int64_t>(1, width)),
                   [&](int64_t begin, int64_t end) { kRows(of, begin, end); });
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
         tensor.scalar_type() == at::kFloat && tensor.is_contiguous() && !tensor.is_neg() &&
         !at::isTensorSubclassLike(tensor);
}

}  // namespace

bool takes_row_products_here() { return takes_row_products; }

bool set_row_products(bool are_taken) { return std::exchange(takes_row_products, are_taken); }

std::optional<at::Tensor> row_product(const at::Tensor& x, const at::Tensor& weight,
                                      const std::optional<at::Tensor>& bias) {
  if (!takes_row_products || at::GradMode::is_enabled()) return std::nullopt;
  if (weight.dim() != 2 || x.dim() == 0 || x.numel() != weight.size(1) ||
      x.size(-1) != weight.size(1)) {
    return std::nullopt;
  }
  if (!is_plain(x) || !is_plain(weight) || (bias && (!is_plain(*bias) || bias->dim() != 1))) {
    return std::nullopt;
  }
  if (at::autocast::is_autocast_enabled(at::kCPU)) return std::nullopt;
  const int64_t count = weight.size(0);
  if (bias && bias->size(0) != count) return std::nullopt;
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = count;
  at::Tensor out = at::empty(sizes, x.options());
  std::vector<at::Tensor> read{x, weight};
  if (bias) read.push_back(*bias);
  run_effect("row product", "", {out}, read, &multiply);
  return out;
}

}  // namespace rtrain::engine
