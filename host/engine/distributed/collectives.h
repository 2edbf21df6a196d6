// host/engine/distributed/collectives.h: the collectives and messages of a group's ranks.
//
// Every member of a group must call the same collectives in the same order; a message needs one
// send and one receive. Ranks in arguments are global ranks, as in PyTorch, whatever the group.
// With is_async a call returns once the operation was started, else once it has completed; until
// then its tensors must not be used. Throws Error(kArgument) for bad arguments, else as
// Group::call.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "host/engine/distributed/group.h"
#include "host/engine/distributed/group_work.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {

using GroupPtr = std::shared_ptr<Group>;
using GroupWorkPtr = std::shared_ptr<GroupWork>;

// Throws Error(kArgument) for an unknown name.
c10d::ReduceOp reduce_op(std::string_view name);

// The option asyncOp of a collective of this tensor. Only a backend that runs on the caller's
// thread gets false: the others return no Work for a synchronous collective.
bool async_op(const GroupPtr& group, const at::Tensor& tensor, bool is_async);

using StartCollective = std::function<GroupWorkPtr(
    const std::vector<at::Tensor>& changed, const std::vector<at::Tensor>& read, bool is_async)>;

// In a recording of train.compile: makes the collective one of its effects, and the wait for it
// another one if nothing waits for it here. `given`: what makes it another collective. REQUIRES:
// this thread is recorded.
GroupWorkPtr recorded(const GroupPtr& group, const char* operation, std::string_view given,
                      bool is_async, const std::vector<at::Tensor>& changed,
                      const std::vector<at::Tensor>& read, StartCollective start,
                      Effect::Order order = Effect::Order::kOfEffects);

// In place. op: "sum", "avg", "min", "max", "product", "band", "bor", "bxor".
GroupWorkPtr all_reduce(const GroupPtr& group, const at::Tensor& tensor, std::string_view op,
                        bool is_async = false);
// In place, on rank dst. The values on other ranks are undefined afterwards.
GroupWorkPtr reduce(const GroupPtr& group, const at::Tensor& tensor, int dst, std::string_view op,
                    bool is_async = false);
// In place: every rank gets the values of rank src.
GroupWorkPtr broadcast(const GroupPtr& group, const at::Tensor& tensor, int src,
                       bool is_async = false);
// Returns every rank's tensor, in the order of group ranks. `outputs`: one for each rank with that
// rank's shape, or empty: then all ranks' tensors have the shape of this rank's.
GroupWorkPtr all_gather(const GroupPtr& group, std::vector<at::Tensor> outputs,
                        const at::Tensor& tensor, bool is_async = false);
// `output` gets every rank's tensor, concatenated.
GroupWorkPtr all_gather_into_tensor(const GroupPtr& group, const at::Tensor& output,
                                    const at::Tensor& input, bool is_async = false);
// Rank dst gets every rank's tensor, in `outputs` or, if that is empty, in new tensors. The other
// ranks pass no outputs and get no results.
GroupWorkPtr gather(const GroupPtr& group, const at::Tensor& tensor,
                    std::vector<at::Tensor> outputs, int dst, bool is_async = false);
// `output` gets this rank's entry of rank src's list. The other ranks pass an empty list.
GroupWorkPtr scatter(const GroupPtr& group, const at::Tensor& output,
                     const std::vector<at::Tensor>& inputs, int src, bool is_async = false);
// Reduces the ranks' lists elementwise; `output` gets this rank's entry. Each list has one input
// per rank, all with the shape of output.
GroupWorkPtr reduce_scatter(const GroupPtr& group, const at::Tensor& output,
                            const std::vector<at::Tensor>& inputs, std::string_view op,
                            bool is_async = false);
// The same with one tensor, divided into one part for each rank.
GroupWorkPtr reduce_scatter_tensor(const GroupPtr& group, const at::Tensor& output,
                                   const at::Tensor& input, std::string_view op,
                                   bool is_async = false);
// Sends inputs[r] to rank r and receives outputs[r] from it. The two ranks must agree on the sizes.
GroupWorkPtr all_to_all(const GroupPtr& group, const std::vector<at::Tensor>& outputs,
                        const std::vector<at::Tensor>& inputs, bool is_async = false);
// The same with parts of one tensor: the given numbers of rows, or equal parts if no sizes are
// given.
GroupWorkPtr all_to_all_single(const GroupPtr& group, const at::Tensor& output,
                               const at::Tensor& input, std::vector<int64_t> output_sizes,
                               std::vector<int64_t> input_sizes, bool is_async = false);
GroupWorkPtr barrier(const GroupPtr& group, bool is_async = false);
// The same over the transport of CPU tensors, with a deadline of its own.
void monitored_barrier(const GroupPtr& group, std::chrono::milliseconds timeout);

// Sends to rank dst, which must receive with the same tag.
GroupWorkPtr send(const GroupPtr& group, const at::Tensor& tensor, int dst, int tag,
                  bool is_async = false);
// Receives in place what rank src sends with that tag; src below 0: any rank.
GroupWorkPtr receive(const GroupPtr& group, const at::Tensor& tensor, int src, int tag,
                     bool is_async = false);

}  // namespace rtrain::engine
