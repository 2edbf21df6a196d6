// host/engine/distributed/reducer.h: gradient synchronization of DistributedDataParallel:
// c10d::Reducer with what Python does around it.
//
// One training step: before_forward, the model, after_forward, backward. Gradients are then the
// mean over all ranks. With gradient_as_bucket_view a gradient is a view into a bucket: zero it in
// place, never set it to nil. Used by the thread of the Lua state that made it; closed before its
// group.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/distributed/group.h"

namespace c10d {
class CommHookInterface;
class Logger;
}  // namespace c10d

namespace rtrain {

struct ReducerOptions {
  std::vector<std::string> names;   // of the parameters, for messages; empty or one each
  std::vector<at::Tensor> buffers;  // broadcast from rank 0 with the parameters, and before forward
  std::vector<at::Tensor> frozen;   // broadcast from rank 0 with the parameters, and never again
  bool find_unused_parameters = false;
  bool gradient_as_bucket_view = true;
  bool static_graph = false;
  bool broadcast_buffers = true;
  double bucket_cap_mb = 25;
  // That of a reducer of the same parameters: its buckets are this one's, from the first step on.
  // Rank 0's counts; empty: the first backward shows it.
  std::vector<int64_t> gradient_order;
};

class OrderedReducer;

class Reducer : public std::enable_shared_from_this<Reducer> {
 public:
  // Verifies that all ranks have the same parameters and gives every rank rank 0's values. Throws
  // Error(kArgument) for no parameter, one without requires_grad or given twice.
  static std::shared_ptr<Reducer> create(const std::shared_ptr<Group>& group,
                                         std::vector<at::Tensor> params, ReducerOptions options);
  ~Reducer() { close(); }
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // `sync` is false inside no_sync: gradients then only accumulate on this rank.
  void before_forward(bool sync);

  // The tensors of the model's output in, what the caller must give on in their place out: the same
  // tensors, or with find_unused_parameters, and in static_graph's first iteration, ones whose
  // backward reports to the reducer.
  std::vector<at::Tensor> after_forward(const std::vector<at::Tensor>& outputs, bool sync);
  // Whether after_forward may return other tensors than it was given; else it needs no outputs at
  // all.
  bool replaces_outputs() const;

  // "allreduce", "fp16_compress" or "bf16_compress". Once, before the first backward.
  void register_comm_hook(std::string_view name);
  // Likewise, one of its own.
  void register_comm_hook(std::unique_ptr<c10d::CommHookInterface> hook);

  // The order in which gradients were ready in the first backward, by the parameters' numbers, in
  // which buckets hold them. Empty before that. Also of one that is closed.
  std::vector<int64_t> gradient_order() const;

  // Gradient hooks stop; later calls raise. Never throws. Calling it again does nothing.
  void close() noexcept;

 private:
  Reducer(std::shared_ptr<Group> group, std::vector<at::Tensor> params, ReducerOptions options);
  void check_params() const;
  void equalize_ranks();
  void build();
  void rebuild();
  void check_open() const;
  void call(const char* operation, bool waits, const std::function<void()>& body);
  friend struct SinkState;
  void delay_all_reduce();

  std::shared_ptr<Group> group_;
  std::vector<at::Tensor> params_;
  ReducerOptions options_;
  // Python's require_forward_param_sync: the buffers' next broadcast is due.
  bool buffers_due_ = true;
  // In static_graph's first iteration all-reduce is delayed until the whole backward is known.
  bool delay_queued_ = false;
  bool has_rebuilt_ = false;  // LibTorch, the buckets: together with the other ranks
  std::vector<int64_t> gradient_order_;
  std::shared_ptr<OrderedReducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;
};

}  // namespace rtrain
