// host/engine/distributed/watched_backend.h: a backend that tells the host of each collective
// before its data move.
//
// DDP's buckets come by here as well as the functions of torch.distributed. Where the ranks
// disagree the host raises, instead of a library that hangs, aborts or mixes up bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "host/base/host_api.h"

namespace rtrain {

class WatchedBackend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Work = c10::intrusive_ptr<c10d::Work>;

  // REQUIRES: the host has enter_collective, and outlives the backend.
  WatchedBackend(c10::intrusive_ptr<c10d::Backend> inner, const HostApi& host)
      : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), host_(host) {}

  const std::string getBackendName() const override { return inner_->getBackendName(); }
  c10::intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  Work allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::AllgatherOptions& options) override;
  Work _allgather_base(at::Tensor& output, at::Tensor& input,
                       const c10d::AllgatherOptions& options) override;
  Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) override;
  Work barrier(const c10d::BarrierOptions& options) override;

 private:
  void enter(const char* operation, const Tensors& tensors) const;

  c10::intrusive_ptr<c10d::Backend> inner_;
  const HostApi& host_;
};

}  // namespace rtrain
