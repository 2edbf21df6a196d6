// host/engine/data/images/byte_rows.h: a column of texts or files: all bytes one after the other,
// and where each row begins.
//
// Borrows the tensors' memory, which has to stay. Row i is bytes offsets[i] … offsets[i + 1] - 1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <utility>

namespace rtrain {

class ByteRows {
 public:
  // Throws Error(kArgument) unless offsets is int64 [n + 1] that never falls and stays inside of
  // bytes, uint8 [m], both dense on the CPU.
  ByteRows(const at::Tensor& offsets, const at::Tensor& bytes);

  int64_t size() const { return size_; }
  // REQUIRES: 0 <= i < size().
  std::span<const uint8_t> operator[](int64_t i) const {
    return {bytes_ + offsets_[i], static_cast<size_t>(offsets_[i + 1] - offsets_[i])};
  }

  // Offsets (from 0) and bytes of the rows of the indices, int64 [k]. Throws Error(kArgument) for
  // an index outside of 0 … size() - 1.
  std::pair<at::Tensor, at::Tensor> take(const at::Tensor& indices) const;

 private:
  const int64_t* offsets_;
  const uint8_t* bytes_;
  int64_t size_;
};

}  // namespace rtrain
