// host/engine/distributed/watched_backend.h: a backend that reports each collective before its data
// move.
//
// This includes the buckets of DDP as well as functions of torch.distributed. If ranks disagree,
// the report throws before a library hangs, aborts or mixes up bytes. The report only uses data on
// the host and never waits for a device. The class derives from the backend instead of wrapping it,
// because LibTorch casts backends named "gloo" or "nccl" to its own classes.
#pragma once

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "host/engine/cuda/notify_collective.h"
#include "host/engine/distributed/shm/collective_names.h"
#include "host/engine/runtime/phase_region.h"

namespace rtrain::engine {

template <class Base>
class Watched : public Renamed<Base> {
 public:
  using Named = Renamed<Base>;
  using Tensors = std::vector<at::Tensor>;
  using Work = c10::intrusive_ptr<c10d::Work>;

  template <class... Args>
  explicit Watched(NotifyCollective notify, Args&&... args)
      : Named(std::forward<Args>(args)...), notify_(std::move(notify)) {}

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return reported("broadcast from " + std::to_string(options.rootRank), tensors,
                    [&] { return Base::broadcast(tensors, options); });
  }
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    Work work = reported("all_reduce", tensors, [&] { return Base::allreduce(tensors, options); });
    // An asynchronous all-reduce of DDP: the end of backward waits for it.
    if (options.asyncOp && notify_.host->mark_collective != nullptr) {
      notify_.host->mark_collective();
    }
    return work;
  }
  Work allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::AllgatherOptions& options) override {
    // Ranks may have tensors of different sizes. Then every rank knows all sizes.
    const bool is_even = outputs.size() != 1 || has_one_shape(outputs[0]);
    return reported("all_gather", is_even ? inputs : outputs[0],
                    [&] { return Base::allgather(outputs, inputs, options); });
  }
  Work all_gather_single(at::Tensor& output, at::Tensor& input,
                         const c10d::AllgatherOptions& options) override {
    return reported("all_gather", {input},
                    [&] { return Named::all_gather_single(output, input, options); });
  }
  Work reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ReduceScatterOptions& options) override {
    Tensors parts;
    for (const Tensors& each : inputs) parts.insert(parts.end(), each.begin(), each.end());
    return reported("reduce_scatter", parts,
                    [&] { return Base::reduce_scatter(outputs, inputs, options); });
  }
  Work reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                             const c10d::ReduceScatterOptions& options) override {
    return reported("reduce_scatter", {input},
                    [&] { return Named::reduce_scatter_single(output, input, options); });
  }
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return reported("reduce to " + std::to_string(options.rootRank), tensors,
                    [&] { return Base::reduce(tensors, options); });
  }
  Work gather(std::vector<Tensors>& outputs, Tensors& inputs,
              const c10d::GatherOptions& options) override {
    return reported("gather to " + std::to_string(options.rootRank), inputs,
                    [&] { return Base::gather(outputs, inputs, options); });
  }
  Work scatter(Tensors& outputs, std::vector<Tensors>& inputs,
               const c10d::ScatterOptions& options) override {
    return reported("scatter from " + std::to_string(options.rootRank), outputs,
                    [&] { return Base::scatter(outputs, inputs, options); });
  }
  // The sizes may differ between ranks, so the report has no tensors.
  Work all_to_all_single(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                         std::vector<int64_t>& input_sizes,
                         const c10d::AllToAllOptions& options) override {
    return reported("all_to_all", {}, [&] {
      return Named::all_to_all_single(output, input, output_sizes, input_sizes, options);
    });
  }
  Work barrier(const c10d::BarrierOptions& options) override {
    return reported("barrier", {}, [&] { return Base::barrier(options); });
  }

 protected:
  // Called when the collective of that number was passed to the backend, which may not have
  // completed it.
  virtual void on_given(uint64_t number) { static_cast<void>(number); }

 private:
  static bool has_one_shape(const Tensors& tensors) {
    for (const at::Tensor& each : tensors) {
      if (each.sizes() != tensors[0].sizes()) return false;
    }
    return true;
  }

  template <class Call>
  Work reported(const std::string& operation, const Tensors& tensors, Call call) {
    const PhaseRegion region(*notify_.host, TrainPhase::kCommunication);
    const uint64_t number = notify_.begin(operation, tensors);
    Work work = call();
    on_given(number);
    return work;
  }

  NotifyCollective notify_;
};

}  // namespace rtrain::engine
