// host/engine/distributed/shm/backend.h: c10d backend "shm": CPU tensors of ranks on one node
// travel over shared memory.
//
// Collectives run in the order of their calls. Asynchronous ones run on a thread of the backend if
// the rank has more than one core. With one core that thread would only compete with the caller, so
// the caller does the work itself, unless it uses AtOnce. Messages do not wait for collectives.
// Accepts dense tensors of every dtype that `reduction.h` knows.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "host/engine/distributed/shm/arena.h"
#include "host/engine/distributed/shm/collective_names.h"
#include "host/engine/distributed/shm/collectives.h"
#include "host/engine/distributed/shm/messages.h"
#include "host/engine/distributed/shm/queue.h"
#include "host/engine/distributed/shm/segment.h"

namespace rtrain::engine {

// Its methods are those of c10d::Backend.
class ShmBackend : public Renamed<c10d::Backend> {
 public:
  using Tensors = std::vector<at::Tensor>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  // REQUIRES: the segment is sealed.
  ShmBackend(std::shared_ptr<ShmSegment> segment, std::chrono::milliseconds timeout);
  ~ShmBackend() override;

  // Tensors in the arena are reduced in place, without copies.
  const std::shared_ptr<ShmArena>& arena() const { return arena_; }

  const std::string getBackendName() const override { return "shm"; }
  void setTimeout(std::chrono::milliseconds timeout) override;

  // While it exists, this thread's asynchronous calls return without waiting for other ranks.
  class AtOnce {
   public:
    AtOnce();
    ~AtOnce();
    AtOnce(const AtOnce&) = delete;
    AtOnce& operator=(const AtOnce&) = delete;
  };

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr all_gather_single(at::Tensor& output, at::Tensor& input,
                            const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                                const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& options) override;
  WorkPtr all_to_all_single(at::Tensor& output, at::Tensor& input,
                            std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                            const c10d::AllToAllOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;

 private:
  std::shared_ptr<ShmSegment> segment_;
  std::shared_ptr<ShmArena> arena_;
  ShmCollectives collectives_;
  ShmQueue queue_;
  std::shared_ptr<ShmMessages> messages_;
};

}  // namespace rtrain::engine
