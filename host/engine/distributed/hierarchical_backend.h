// host/engine/distributed/hierarchical_backend.h: a backend for CPU tensors of ranks on several
// nodes: shared memory inside a node, Gloo between the first ranks of the nodes.
//
// A tensor is reduced in chunks: while the first ranks reduce one chunk between nodes, the ranks of
// each node reduce the next one. All ranks get bitwise equal results. all_reduce, broadcast,
// all_gather and barrier work this way; the other operations would gain nothing and use Gloo
// between all ranks. Collectives run in the order of their calls: on the caller's thread if
// synchronous, else on a thread of the backend.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "host/engine/distributed/node_plan.h"
#include "host/engine/distributed/shm/collective_names.h"
#include "host/engine/distributed/shm/collectives.h"
#include "host/engine/distributed/shm/queue.h"
#include "host/engine/distributed/shm/segment.h"

namespace rtrain::engine {

// Its methods are those of c10d::Backend.
class HierarchicalBackend : public Renamed<c10d::Backend> {
 public:
  using Tensors = std::vector<at::Tensor>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  struct Parts {
    NodePlan plan;
    std::shared_ptr<ShmSegment> segment;        // of this node's ranks, sealed
    c10::intrusive_ptr<c10d::Backend> between;  // between nodes' first ranks; null on other ranks
    c10::intrusive_ptr<c10d::Backend> all;
  };

  HierarchicalBackend(int rank, int num_ranks, Parts parts, std::chrono::milliseconds timeout);
  ~HierarchicalBackend() override;

  // LibTorch casts a backend named "gloo" to its own class.
  const std::string getBackendName() const override { return "shm+gloo"; }
  void setTimeout(std::chrono::milliseconds timeout) override;

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr all_gather_single(at::Tensor& output, at::Tensor& input,
                            const c10d::AllgatherOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;

  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                                const c10d::ReduceScatterOptions& options) override;
  WorkPtr all_to_all_single(at::Tensor& output, at::Tensor& input,
                            std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                            const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;

 private:
  using Start = std::function<WorkPtr(at::Tensor& chunk)>;

  bool is_first() const { return parts_.between != nullptr; }
  void in_chunks(const at::Tensor& data, const std::function<void(const at::Tensor&)>& inside,
                 const Start& between, const std::function<void(const at::Tensor&)>& after);
  void all_gather(const at::Tensor& input, const Tensors& outputs);
  WorkPtr run(c10d::OpType type, const Tensors& results, bool is_async, ShmQueue::Body body);

  Parts parts_;
  ShmCollectives inside_;
  ShmQueue queue_;
};

}  // namespace rtrain::engine
