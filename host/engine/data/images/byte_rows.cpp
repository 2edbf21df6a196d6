#include "host/engine/data/images/byte_rows.h"

#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

void check_list(const at::Tensor& tensor, at::ScalarType dtype, std::string_view what) {
  const bool right = tensor.dim() == 1 && tensor.scalar_type() == dtype && tensor.is_cpu() &&
                     tensor.layout() == c10::kStrided && tensor.is_contiguous();
  if (right) return;
  throw Error(Code::kArgument,
              cat(what, ": expected a contiguous ", std::string_view(c10::toString(dtype)),
                  " tensor of one dimension on the CPU, got ", describe(tensor)));
}

}  // namespace

ByteRows::ByteRows(const at::Tensor& offsets, const at::Tensor& bytes) {
  check_list(offsets, at::kLong, "offsets");
  check_list(bytes, at::kByte, "bytes");
  if (offsets.numel() < 1) throw Error(Code::kArgument, "offsets: at least one is needed");
  size_ = offsets.numel() - 1;
  offsets_ = offsets.const_data_ptr<int64_t>();
  bytes_ = bytes.const_data_ptr<uint8_t>();
  bool rising = offsets_[0] >= 0 && offsets_[size_] <= bytes.numel();
  for (int64_t i = 0; i < size_; ++i) rising = rising && offsets_[i] <= offsets_[i + 1];
  if (rising) return;
  throw Error(Code::kArgument, cat("offsets: they fall, or leave the ", bytes.numel(), " bytes"));
}

std::pair<at::Tensor, at::Tensor> ByteRows::take(const at::Tensor& indices) const {
  check_list(indices, at::kLong, "indices");
  const auto* rows = indices.const_data_ptr<int64_t>();
  const int64_t count = indices.numel();
  at::Tensor offsets = empty_tensor({count + 1}, at::TensorOptions().dtype(at::kLong));
  auto* ends = offsets.mutable_data_ptr<int64_t>();
  ends[0] = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (rows[i] < 0 || rows[i] >= size_) {
      throw Error(Code::kArgument, cat("indices: there is no row ", rows[i], " among ", size_));
    }
    ends[i + 1] = ends[i] + static_cast<int64_t>((*this)[rows[i]].size());
  }
  at::Tensor bytes = empty_tensor({ends[count]}, at::TensorOptions().dtype(at::kByte));
  auto* out = bytes.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    const std::span<const uint8_t> row = (*this)[rows[i]];
    if (!row.empty()) std::memcpy(out + ends[i], row.data(), row.size());
  }
  return {std::move(offsets), std::move(bytes)};
}

}  // namespace rtrain::engine
