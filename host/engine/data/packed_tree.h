// host/engine/data/packed_tree.h: a tree as bytes for another process.
//
// The bytes are a head, which holds everything but the tensors' values, and then each tensor's
// values at a multiple of kTensorAlignment: the receiver's tensors lie in the bytes themselves and
// are not copied.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/files/tree.h"

namespace rtrain {

class PackedTree {
 public:
  static constexpr size_t kTensorAlignment = 64;

  // Throws Error(kArgument) for a tensor that is not dense. What lies on a device is copied.
  explicit PackedTree(const Tree& tree);

  size_t size() const { return size_; }
  // Gives all bytes in order, in pieces.
  void write(const std::function<void(std::string_view)>& out) const;

 private:
  std::string head_;
  std::vector<at::Tensor> tensors_;
  size_t size_ = 0;
};

// The tree that the bytes hold; its tensors keep `owner`. The bytes begin at a multiple of 16, and
// who sent them is trusted with their content, not with their length: throws Error(kInternal) where
// they end too early.
Tree unpack_tree(std::string_view bytes, const std::shared_ptr<void>& owner);

}  // namespace rtrain
