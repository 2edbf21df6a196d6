// host/engine/distributed/watched_backend.h: a backend that tells the host of each collective
// before its data move.
//
// DDP's buckets come by here as well as the functions of torch.distributed. Where the ranks
// disagree the host raises, instead of a library that hangs, aborts or mixes up bytes. A class
// derived from the backend and no wrapper around it: LibTorch casts what calls itself "gloo".
#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "host/base/host_api.h"
#include "host/base/text.h"

namespace rtrain {

// "float32 [2, 3]"; of many tensors the first, how many more and how many elements in all.
std::string describe_tensors(const std::vector<at::Tensor>& tensors);

template <class Base>
class Watched final : public Base {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Work = c10::intrusive_ptr<c10d::Work>;

  // The host may lack enter_collective, and outlives the backend.
  template <class... Args>
  explicit Watched(const HostApi& host, Args&&... args)
      : Base(std::forward<Args>(args)...), host_(host) {}

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    enter(cat("broadcast from ", options.rootRank), tensors);
    return Base::broadcast(tensors, options);
  }
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    enter("all_reduce", tensors);
    return Base::allreduce(tensors, options);
  }
  Work allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::AllgatherOptions& options) override {
    enter("all_gather", inputs);
    return Base::allgather(outputs, inputs, options);
  }
  Work _allgather_base(at::Tensor& output, at::Tensor& input,
                       const c10d::AllgatherOptions& options) override {
    enter("all_gather", {input});
    return Base::_allgather_base(output, input, options);
  }
  Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) override {
    enter("reduce_scatter", {input});
    return Base::_reduce_scatter_base(output, input, options);
  }
  Work barrier(const c10d::BarrierOptions& options) override {
    enter("barrier", {});
    return Base::barrier(options);
  }

 private:
  void enter(const std::string& operation, const Tensors& tensors) const {
    if (host_.enter_collective == nullptr) return;
    host_.enter_collective(operation.c_str(), describe_tensors(tensors));
  }

  const HostApi& host_;
};

}  // namespace rtrain
