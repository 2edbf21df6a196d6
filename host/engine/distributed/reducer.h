// host/engine/distributed/reducer.h: gradient synchronization of DistributedDataParallel:
// c10d::Reducer and the parts that PyTorch has in Python.
//
// One training step: before_forward, the model, after_forward, backward. Afterwards gradients are
// the mean over all ranks. With gradient_as_bucket_view a gradient is a view into a bucket: zero it
// in place, never set it to nil. In a recording of train.compile a step's parts are effects
// (host/engine/runtime/effect.h), with which a plan drives this reducer. Belongs to the thread of
// the Lua state that created it. Closed before its group.
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

namespace rtrain::engine {

struct ReducerOptions {
  std::vector<std::string> names;   // of parameters, for messages; empty or one each
  std::vector<at::Tensor> buffers;  // broadcast from rank 0 at creation and before each forward
  std::vector<at::Tensor> frozen;   // broadcast from rank 0 at creation only
  bool find_unused_parameters = false;
  bool gradient_as_bucket_view = true;
  bool static_graph = false;
  bool broadcast_buffers = true;
  double bucket_cap_mb = 25;
  // The gradient order of an earlier reducer with the same parameters: this reducer then uses the
  // same buckets from the first step on. Rank 0's value is used on all ranks; empty: the first
  // backward determines the order.
  std::vector<int64_t> gradient_order;
  // Above 0: backward passes are those of virtual ranks (virtual_sums.h).
  int num_virtual = 0;
  // How many of them each rank computes; empty: as equal numbers as possible.
  std::vector<int> shares;
};

class OrderedReducer;
class VirtualSums;

class Reducer : public std::enable_shared_from_this<Reducer> {
 public:
  // Checks that all ranks have the same parameters, and broadcasts rank 0's values. Throws
  // Error(kArgument) for no parameter, a parameter without requires_grad, or one given twice.
  static std::shared_ptr<Reducer> create(const std::shared_ptr<Group>& group,
                                         std::vector<at::Tensor> params, ReducerOptions options);
  ~Reducer() { close(); }
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // `sync` is false inside no_sync: gradients then only accumulate on this rank. `virtual_rank` is
  // below 0 outside of a step of virtual ranks.
  void before_forward(bool sync, int virtual_rank = -1);

  // Takes the tensors of the model's output and returns those that the caller must use instead: the
  // same ones or, with find_unused_parameters and in static_graph's first iteration, tensors whose
  // backward notifies the reducer.
  std::vector<at::Tensor> after_forward(const std::vector<at::Tensor>& outputs, bool sync);
  // Whether after_forward may return other tensors than it is given. If false, it may be called
  // without outputs.
  bool replaces_outputs() const;

  // "allreduce", "fp16_compress" or "bf16_compress". Call it at most once, before the first
  // backward.
  void register_comm_hook(std::string_view name);
  // The same with a user-defined hook.
  void register_comm_hook(std::unique_ptr<c10d::CommHookInterface> hook);

  // The script has zeroed the gradients of these parameters. Only for virtual ranks.
  void note_zeroed(const std::vector<at::Tensor>& params);
  // The batch of a virtual rank has ended: throws Error(kUser) if it had a forward without a
  // backward that exchanges gradients. `is_left`: the loop was left instead, within a step.
  void end_virtual_rank(bool is_left);
  // Gives all ranks rank 0's buffers now, in place of the next forward. A collective.
  void share_buffers();

  // The order in which gradients became ready in the first backward, as parameter indices; buckets
  // hold them in this order. Empty before that backward. Also works after close().
  std::vector<int64_t> gradient_order() const;

  // How often the buckets were made.
  int num_builds() const { return num_builds_; }

  // Stops the gradient hooks. Later calls throw. Never throws itself. A second call does nothing.
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
  // Whether it looks for parameters that the outputs do not use.
  bool searches() const { return options_.find_unused_parameters && !options_.static_graph; }
  void begin_forward(bool sync, int virtual_rank);
  bool has_buffers() const { return options_.broadcast_buffers && !options_.buffers.empty(); }
  void broadcast_buffers();
  void end_forward(const std::vector<at::Tensor>& outputs, bool sync);
  // A gradient is complete on this rank.
  void on_gradient(size_t index);
  void repeat_gradient(size_t index, const at::Tensor& grad);
  // Runs fn(*this, changed), as an effect.
  template <class Fn>
  void run_as_effect(std::string_view name, std::string_view given,
                     const std::vector<at::Tensor>& changed, Fn fn);

  std::shared_ptr<Group> group_;
  std::vector<at::Tensor> params_;
  ReducerOptions options_;
  // Python's require_forward_param_sync: broadcast the buffers before the next forward.
  bool buffers_due_ = true;
  // In static_graph's first iteration the all-reduce starts after the whole backward.
  bool delay_queued_ = false;
  int num_builds_ = 0;
  const int number_;          // in this process
  bool has_rebuilt_ = false;  // LibTorch has rebuilt the buckets, on all ranks at once
  std::vector<int64_t> gradient_order_;
  std::shared_ptr<OrderedReducer> reducer_;
  std::shared_ptr<VirtualSums> virtual_sums_;  // null without virtual ranks
  std::shared_ptr<c10d::Logger> logger_;
};

}  // namespace rtrain::engine
