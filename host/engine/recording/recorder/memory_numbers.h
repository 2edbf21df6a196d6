// host/engine/recording/recorder/memory_numbers.h: numbers for the memory in which the tensors of a
// step lie.
//
// A storage has one number. Gradients that lie in one storage but not in the same bytes, as those
// of a bucket of DistributedDataParallel, count as memory of their own.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rtrain::engine {

class MemoryNumbers {
 public:
  // Divides storages in which several of these gradients lie. Undefined ones are ignored.
  void divide(const std::vector<at::Tensor>& grads);

  // Whether the tensor lies in more than one part of a divided storage.
  bool is_in_several(const at::Tensor& tensor) const { return !key_of(tensor); }
  // The number, from 0; nothing if the memory is not known, or is in several parts.
  std::optional<int> find(const at::Tensor& tensor) const;
  // The number, and whether it is new. REQUIRES: the memory is not in several parts.
  std::pair<int, bool> add(const at::Tensor& tensor);

 private:
  // A storage, and the part of it where it is divided.
  using Key = std::pair<const c10::StorageImpl*, int64_t>;

  std::optional<Key> key_of(const at::Tensor& tensor) const;

  std::map<const c10::StorageImpl*, std::vector<int64_t>> parts_;  // the first byte of each
  std::map<Key, int> numbers_;
};

}  // namespace rtrain::engine
