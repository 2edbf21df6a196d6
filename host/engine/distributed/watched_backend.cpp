#include "host/engine/distributed/watched_backend.h"

#include "host/base/text.h"
#include "host/engine/tensor/dtype.h"

namespace rtrain {
namespace {

std::string describe(const at::Tensor& tensor) {
  std::string out = cat(dtype_name(tensor.scalar_type()), " [");
  for (int64_t i = 0; i < tensor.dim(); ++i) out += cat(i == 0 ? "" : ", ", tensor.size(i));
  return out + "]";
}

// The first, and of many how many and how much in all.
std::string describe(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return "";
  if (tensors.size() == 1) return describe(tensors[0]);
  int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return cat(describe(tensors[0]), " and ", tensors.size() - 1, " more, ", elements, " elements");
}

}  // namespace

void WatchedBackend::enter(const char* operation, const Tensors& tensors) const {
  host_.enter_collective(operation, describe(tensors));
}

WatchedBackend::Work WatchedBackend::broadcast(Tensors& tensors,
                                               const c10d::BroadcastOptions& options) {
  enter(cat("broadcast from ", options.rootRank).c_str(), tensors);
  return inner_->broadcast(tensors, options);
}

WatchedBackend::Work WatchedBackend::allreduce(Tensors& tensors,
                                               const c10d::AllreduceOptions& options) {
  enter("all_reduce", tensors);
  return inner_->allreduce(tensors, options);
}

WatchedBackend::Work WatchedBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                               const c10d::AllgatherOptions& options) {
  enter("all_gather", inputs);
  return inner_->allgather(outputs, inputs, options);
}

WatchedBackend::Work WatchedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                     const c10d::AllgatherOptions& options) {
  enter("all_gather", {input});
  return inner_->_allgather_base(output, input, options);
}

WatchedBackend::Work WatchedBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  enter("reduce_scatter", {input});
  return inner_->_reduce_scatter_base(output, input, options);
}

WatchedBackend::Work WatchedBackend::barrier(const c10d::BarrierOptions& options) {
  enter("barrier", {});
  return inner_->barrier(options);
}

}  // namespace rtrain
