// host/engine/data/images/byte_rows.h: a column of strings or files: the bytes of all rows in one
// buffer, and the offset at which each row begins.
//
// Borrows the tensors' memory, which must stay alive. Row i has the bytes from offsets[i] to
// offsets[i + 1] - 1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <utility>

namespace rtrain::engine {

class ByteRows {
 public:
  // Throws Error(kArgument) unless `offsets` is int64 [n + 1], never decreases and stays inside of
  // `bytes`, which is uint8 [m]; both contiguous on the CPU.
  ByteRows(const at::Tensor& offsets, const at::Tensor& bytes);

  int64_t size() const { return size_; }
  // REQUIRES: 0 <= i < size().
  std::span<const uint8_t> operator[](int64_t i) const {
    return {bytes_ + offsets_[i], static_cast<size_t>(offsets_[i + 1] - offsets_[i])};
  }

  // Copies the rows at `indices`, int64 [k]: their offsets (from 0) and bytes. Throws
  // Error(kArgument) for an index outside of 0 … size() - 1.
  std::pair<at::Tensor, at::Tensor> take(const at::Tensor& indices) const;

 private:
  const int64_t* offsets_;
  const uint8_t* bytes_;
  int64_t size_;
};

}  // namespace rtrain::engine
