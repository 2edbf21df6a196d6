#include "host/compile/kernel_schedule.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace rtrain::compile {
namespace {

constexpr int kWarp = 32;
constexpr int kElementThreads = 256;
constexpr int kWarpRowThreads = 128;
constexpr int64_t kMostWarpWidth = 1024;
// Numbers of a row that a thread keeps, of all inputs together.
constexpr int64_t kMostHeld = 48;
constexpr int64_t kWidestAccess = 16;  // bytes

std::vector<const RegionTensor*> tensors_of(const Region& region) {
  std::vector<const RegionTensor*> out;
  for (const RegionTensor& input : region.inputs) out.push_back(&input);
  for (const Output& output : region.outputs) out.push_back(&output.tensor);
  return out;
}

// Whether `group` neighbours of the tensor are one aligned piece of memory.
bool can_join(const RegionTensor& tensor, int64_t alignment, int group) {
  if (!tensor.is_plain() || tensor.strides.empty() || tensor.strides.back() != 1) return false;
  if (tensor.type == Type::kInt64 || alignment % group != 0) return false;
  return std::all_of(tensor.strides.begin(), tensor.strides.end() - 1,
                     [&](int64_t stride) { return stride % group == 0; });
}

int64_t last_place(const RegionTensor& tensor, const std::vector<int64_t>& sizes) {
  int64_t out = 0;
  for (size_t i = 0; i < sizes.size(); ++i) out += (sizes[i] - 1) * tensor.strides[i];
  return out;
}

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The inputs of which a thread reads a number for each element.
int64_t num_full_inputs(const Region& region) {
  return std::ranges::count_if(region.inputs, [](const RegionTensor& input) {
    return !input.is_plain() || input.strides.back() != 0;
  });
}

}  // namespace

int KernelSchedule::units_per_block() const {
  if (kind == Kind::kElements) return threads;
  return kind == Kind::kWarpRows ? threads / kWarp : 1;
}

int64_t KernelSchedule::num_blocks(int multiprocessors, bool has_column_sums) const {
  const int64_t resident = std::max(1, 2048 / threads);  // in a multiprocessor
  const int64_t most = int64_t{multiprocessors} * (has_column_sums ? 2 : 4 * resident);
  return std::clamp<int64_t>(divided(units, units_per_block()), 1, std::max<int64_t>(1, most));
}

KernelSchedule choose_schedule(const Region& region, std::span<const int64_t> alignments) {
  KernelSchedule out;
  const auto tensors = tensors_of(region);
  const int64_t inner = region.sizes.empty() ? 1 : region.sizes.back();
  for (const int group : {8, 4, 2}) {
    out.joined.clear();
    bool is_one_access = true;
    for (size_t i = 0; i < tensors.size(); ++i) {
      out.joined.push_back(can_join(*tensors[i], alignments[i], group));
      const bool is_too_wide = group * width_of(tensors[i]->type) > kWidestAccess;
      if (is_too_wide && can_join(*tensors[i], alignments[i], group / 2)) is_one_access = false;
    }
    if (!is_one_access || inner % group != 0 || std::ranges::count(out.joined, true) == 0) continue;
    out.group = group;
    break;
  }
  if (out.group == 1) out.joined.assign(tensors.size(), false);
  constexpr int64_t kMostNarrow = std::numeric_limits<int32_t>::max();
  out.is_wide = region.num_elements() > kMostNarrow ||
                std::ranges::any_of(tensors, [&](const RegionTensor* tensor) {
                  return last_place(*tensor, region.sizes) > kMostNarrow;
                });
  if (!region.has_rows()) {
    out.threads = kElementThreads;
    out.units = region.num_elements() / out.group;
    return out;
  }
  out.width = inner;
  out.units = region.num_elements() / inner;
  const bool has_warps = inner <= kMostWarpWidth;
  out.kind = has_warps ? KernelSchedule::Kind::kWarpRows : KernelSchedule::Kind::kBlockRows;
  // About four groups of a row for each thread.
  const auto wanted = static_cast<uint64_t>(divided(inner, 4L * out.group));
  out.threads = has_warps ? kWarpRowThreads
                          : static_cast<int>(std::clamp<uint64_t>(std::bit_ceil(wanted), 128, 512));
  const int64_t lanes = has_warps ? kWarp : out.threads;
  out.groups_per_row = static_cast<int>(divided(inner, lanes * out.group));
  out.holds_rows = out.groups_per_row * out.group * num_full_inputs(region) <= kMostHeld;
  return out;
}

}  // namespace rtrain::compile
