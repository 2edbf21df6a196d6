// tests/soak/fuzz/touch.h: reads everything that a reader returned, so that the sanitizer checks
// every byte that a tensor claims to have.
#pragma once

#include <unordered_set>

#include "host/base/error.h"
#include "host/engine/files/tree.h"

namespace rtrain {

// Reads the first and the last byte of a dense tensor's values.
inline void touch(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || tensor.numel() == 0) return;
  const auto* first = static_cast<const volatile char*>(tensor.const_data_ptr());
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  static_cast<void>(first[0]);
  static_cast<void>(first[(last + 1) * static_cast<int64_t>(tensor.element_size()) - 1]);
}

inline void touch(const engine::Tree& tree, std::unordered_set<const void*>& seen) {
  if (const auto* tensor = std::get_if<at::Tensor>(&tree)) touch(*tensor);
  if (const auto* list = std::get_if<std::shared_ptr<engine::TreeList>>(&tree)) {
    if (!seen.insert(list->get()).second) return;
    for (const engine::Tree& item : (*list)->items) touch(item, seen);
  }
  if (const auto* map = std::get_if<std::shared_ptr<engine::TreeMap>>(&tree)) {
    if (!seen.insert(map->get()).second) return;
    for (const auto& entry : (*map)->entries) touch(entry.second, seen);
  }
}

inline void touch(const engine::Tree& tree) {
  std::unordered_set<const void*> seen;
  touch(tree, seen);
}

}  // namespace rtrain
