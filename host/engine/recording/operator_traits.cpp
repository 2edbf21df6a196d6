#include "host/engine/recording/operator_traits.h"

#include <algorithm>
#include <array>

namespace rtrain::engine {
namespace {

constexpr std::array<std::string_view, 5> kWriteStatistics = {
    "aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::batch_norm_update_stats",
    "aten::batch_norm_gather_stats", "aten::batch_norm_gather_stats_with_counts"};

constexpr std::array<std::string_view, 4> kGiveSizes = {
    "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_cudnn_attention",
    "aten::_flash_attention_forward", "aten::_efficient_attention_forward"};

}  // namespace

bool writes_statistics(std::string_view name) {
  return std::ranges::find(kWriteStatistics, name) != kWriteStatistics.end();
}

bool gives_sizes(std::string_view name) {
  return std::ranges::find(kGiveSizes, name) != kGiveSizes.end();
}

bool is_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

}  // namespace rtrain::engine
