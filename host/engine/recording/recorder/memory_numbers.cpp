#include "host/engine/recording/recorder/memory_numbers.h"

#include <algorithm>

#include "host/base/error.h"

namespace rtrain::engine {
namespace {

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

struct Extent {
  int64_t begin = 0;  // bytes in the storage
  int64_t end = 0;

  static Extent of(const at::Tensor& tensor) {
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
    const auto width = static_cast<int64_t>(tensor.element_size());
    const int64_t begin = tensor.storage_offset() * width;
    return {.begin = begin, .end = tensor.numel() == 0 ? begin : begin + (last + 1) * width};
  }
};

}  // namespace

void MemoryNumbers::divide(const std::vector<at::Tensor>& grads) {
  std::map<const c10::StorageImpl*, std::vector<Extent>> all;
  for (const at::Tensor& grad : grads) {
    if (grad.defined() && grad.layout() == at::kStrided && grad.has_storage()) {
      all[storage_of(grad)].push_back(Extent::of(grad));
    }
  }
  for (auto& [storage, extents] : all) {
    std::ranges::sort(extents, {}, &Extent::begin);
    bool overlap = false;
    for (size_t i = 1; i < extents.size(); ++i) {
      overlap = overlap || extents[i].begin < extents[i - 1].end;
    }
    if (overlap || extents.size() < 2) continue;
    for (const Extent& extent : extents) parts_[storage].push_back(extent.begin);
  }
}

std::optional<MemoryNumbers::Key> MemoryNumbers::key_of(const at::Tensor& tensor) const {
  const c10::StorageImpl* storage = storage_of(tensor);
  const auto found = parts_.find(storage);
  if (found == parts_.end()) return Key{storage, 0};
  const Extent extent = Extent::of(tensor);
  const std::vector<int64_t>& begins = found->second;
  const auto next = std::ranges::upper_bound(begins, extent.begin);
  const bool is_in_one = next != begins.begin() && (next == begins.end() || extent.end <= *next);
  if (!is_in_one) return std::nullopt;
  return Key{storage, next - begins.begin()};
}

std::optional<int> MemoryNumbers::find(const at::Tensor& tensor) const {
  const auto key = key_of(tensor);
  const auto found = key ? numbers_.find(*key) : numbers_.end();
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::pair<int, bool> MemoryNumbers::add(const at::Tensor& tensor) {
  const auto key = key_of(tensor);
  RT_CHECK(key);
  const auto [found, is_new] = numbers_.try_emplace(*key, static_cast<int>(numbers_.size()));
  return {found->second, is_new};
}

}  // namespace rtrain::engine
