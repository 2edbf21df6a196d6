// host/engine/distributed/gloo/cuttable_gloo.h: a Gloo backend whose collectives and messages end
// when its group's connections are cut (gloo_work.h).
//
// The destructor waits for all operations of Gloo's threads, also after a cut.
// GlooConnections::has_operations() says whether there are any.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "host/engine/distributed/gloo/gloo_work.h"
#include "host/engine/distributed/shm/collective_names.h"

namespace rtrain::engine {

class CuttableGloo : public Renamed<c10d::ProcessGroupGloo> {
 public:
  using Named = Renamed<c10d::ProcessGroupGloo>;
  using Tensors = std::vector<at::Tensor>;

  template <class... Args>
  explicit CuttableGloo(std::shared_ptr<GlooConnections> connections, Args&&... args)
      : Named(std::forward<Args>(args)...), connections_(std::move(connections)) {}

  GlooWorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  GlooWorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  GlooWorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  GlooWorkPtr allreduce_coalesced(Tensors& tensors,
                                  const c10d::AllreduceCoalescedOptions& options) override;
  GlooWorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  GlooWorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions& options) override;
  GlooWorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) override;
  GlooWorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                     const c10d::GatherOptions& options) override;
  GlooWorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ScatterOptions& options) override;
  GlooWorkPtr all_to_all_single(at::Tensor& output, at::Tensor& input,
                                std::vector<int64_t>& output_sizes,
                                std::vector<int64_t>& input_sizes,
                                const c10d::AllToAllOptions& options) override;
  GlooWorkPtr barrier(const c10d::BarrierOptions& options) override;
  GlooWorkPtr send(Tensors& tensors, int to, int tag) override;
  GlooWorkPtr recv(Tensors& tensors, int from, int tag) override;
  GlooWorkPtr recvAnysource(Tensors& tensors, int tag) override;

 private:
  GlooWorkPtr collective(const GlooWorkPtr& inner);
  GlooWorkPtr message(const GlooWorkPtr& inner);

  std::shared_ptr<GlooConnections> connections_;
};

}  // namespace rtrain::engine
