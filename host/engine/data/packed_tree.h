// host/engine/data/packed_tree.h: serializes a tree for another process.
//
// The bytes are a head, which holds everything but the tensors' values, and then each tensor's
// values at a multiple of kTensorAlignment. So the receiver's tensors use these bytes directly,
// without a copy.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/files/tree.h"

namespace rtrain::engine {

class PackedTree {
 public:
  static constexpr size_t kTensorAlignment = 64;

  // Throws Error(kArgument) for a tensor that is not dense. Tensors on a device are copied to the
  // CPU.
  explicit PackedTree(const Tree& tree);

  size_t size() const { return size_; }
  // Passes all bytes to `out` in order, piece by piece.
  void write(const std::function<void(std::string_view)>& out) const;

 private:
  std::string head_;
  std::vector<at::Tensor> tensors_;
  size_t size_ = 0;
};

// Reads the tree from the bytes. Its tensors keep `owner` alive. The bytes must begin at a multiple
// of 16. Trusts the sender with the content but not with the length: throws Error(kInternal) if the
// bytes end too early.
Tree unpack_tree(std::string_view bytes, const std::shared_ptr<void>& owner);

}  // namespace rtrain::engine
