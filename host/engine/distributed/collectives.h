// host/engine/distributed/collectives.h: the collectives and messages of a group's ranks.
//
// Every member of the group calls the same ones in the same order; a message has one that sends and
// one that receives. Ranks in arguments are those of all ranks, as in PyTorch, whatever the group.
// With is_async a call returns when it has been begun, else when it has ended; its tensors belong
// to it until then. Throws Error(kArgument) for what cannot be done, else as Group::call.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "host/engine/distributed/group.h"
#include "host/engine/distributed/group_work.h"

namespace rtrain {

using GroupPtr = std::shared_ptr<Group>;
using GroupWorkPtr = std::shared_ptr<GroupWork>;

// In place. op: "sum", "avg", "min", "max", "product", "band", "bor", "bxor".
GroupWorkPtr all_reduce(const GroupPtr& group, const at::Tensor& tensor, std::string_view op,
                        bool is_async = false);
// In place, on rank dst; what the others have afterwards is not defined.
GroupWorkPtr reduce(const GroupPtr& group, const at::Tensor& tensor, int dst, std::string_view op,
                    bool is_async = false);
// In place: rank src's values on every rank.
GroupWorkPtr broadcast(const GroupPtr& group, const at::Tensor& tensor, int src,
                       bool is_async = false);
// Every rank's tensor, by rank in the group. `outputs`: one for each rank, of that rank's shape, or
// none at all: then all tensors have the shape of this rank's.
GroupWorkPtr all_gather(const GroupPtr& group, std::vector<at::Tensor> outputs,
                        const at::Tensor& tensor, bool is_async = false);
// `output`: room for every rank's tensor, one behind the other.
GroupWorkPtr all_gather_into_tensor(const GroupPtr& group, const at::Tensor& output,
                                    const at::Tensor& input, bool is_async = false);
// Every rank's tensor, on rank dst: in `outputs`, or in new ones where there are none. The others
// give no outputs and have no results.
GroupWorkPtr gather(const GroupPtr& group, const at::Tensor& tensor,
                    std::vector<at::Tensor> outputs, int dst, bool is_async = false);
// output = rank's entry of rank src's list, which the others leave empty.
GroupWorkPtr scatter(const GroupPtr& group, const at::Tensor& output,
                     const std::vector<at::Tensor>& inputs, int src, bool is_async = false);
// output = rank's entry of the elementwise reduction of every rank's list. One input a rank, all
// shaped like output.
GroupWorkPtr reduce_scatter(const GroupPtr& group, const at::Tensor& output,
                            const std::vector<at::Tensor>& inputs, std::string_view op,
                            bool is_async = false);
// The same of one tensor, whose parts are the ranks' entries.
GroupWorkPtr reduce_scatter_tensor(const GroupPtr& group, const at::Tensor& output,
                                   const at::Tensor& input, std::string_view op,
                                   bool is_async = false);
// A tensor to each rank, and one from each. Sizes of two ranks for each other agree.
GroupWorkPtr all_to_all(const GroupPtr& group, const std::vector<at::Tensor>& outputs,
                        const std::vector<at::Tensor>& inputs, bool is_async = false);
// The same of parts of one tensor: of that many rows, or equal ones where no sizes are given.
GroupWorkPtr all_to_all_single(const GroupPtr& group, const at::Tensor& output,
                               const at::Tensor& input, std::vector<int64_t> output_sizes,
                               std::vector<int64_t> input_sizes, bool is_async = false);
GroupWorkPtr barrier(const GroupPtr& group, bool is_async = false);

// To rank dst, which receives it with the same tag.
GroupWorkPtr send(const GroupPtr& group, const at::Tensor& tensor, int dst, int tag,
                  bool is_async = false);
// In place: what rank src sends with that tag; of any rank where src is below 0.
GroupWorkPtr receive(const GroupPtr& group, const at::Tensor& tensor, int src, int tag,
                     bool is_async = false);

}  // namespace rtrain
