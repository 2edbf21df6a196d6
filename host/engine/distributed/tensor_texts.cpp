#include "host/engine/distributed/tensor_texts.h"

#include "host/base/text/text.h"
#include "host/engine/runtime/dtype.h"

namespace rtrain::engine {
namespace {

std::string short_text(const at::Tensor& tensor) {
  std::string out = cat(dtype_name(tensor.scalar_type()), " [");
  for (int64_t i = 0; i < tensor.dim(); ++i) out += cat(i == 0 ? "" : ", ", tensor.size(i));
  return out + "]";
}

}  // namespace

std::string describe_tensors(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return "";
  if (tensors.size() == 1) return short_text(tensors[0]);
  int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return cat(short_text(tensors[0]), " and ", tensors.size() - 1, " more, ", elements, " elements");
}

}  // namespace rtrain::engine
