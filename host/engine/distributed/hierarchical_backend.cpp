#include "host/engine/distributed/hierarchical_backend.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <utility>

#include "host/base/error.h"

namespace rtrain::engine {
namespace {

using Bytes = ShmCollectives::Bytes;
using Tensors = HierarchicalBackend::Tensors;

constexpr int64_t kChunkBytes = int64_t{1} << 20;

Bytes bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

// The dtypes that Gloo reduces. Others are passed to Gloo alone, which throws.
bool is_reducible(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  static constexpr std::array kDtypes = {c10::kFloat, c10::kDouble, c10::kHalf, c10::kChar,
                                         c10::kByte,  c10::kInt,    c10::kLong, c10::kBFloat16};
  const bool is_known = std::ranges::find(kDtypes, tensor.scalar_type()) != kDtypes.end();
  return is_known && op.op_ != c10d::ReduceOp::PREMUL_SUM;
}

bool is_dense(const Tensors& tensors) {
  return std::ranges::all_of(tensors, [](const at::Tensor& each) {
    return each.device().is_cpu() && each.layout() == c10::kStrided && each.is_contiguous();
  });
}

}  // namespace

HierarchicalBackend::HierarchicalBackend(int rank, int num_ranks, Parts parts,
                                         std::chrono::milliseconds timeout)
    : Renamed<c10d::Backend>(rank, num_ranks),
      parts_(std::move(parts)),
      inside_(*parts_.segment, timeout) {}

HierarchicalBackend::~HierarchicalBackend() { parts_.segment->leave(); }

void HierarchicalBackend::setTimeout(std::chrono::milliseconds timeout) {
  inside_.set_timeout(timeout);
  if (is_first()) parts_.between->setTimeout(timeout);
  parts_.all->setTimeout(timeout);
}

// A rank that fails leaves its node's segment, so that the other ranks of the node do not wait for
// it.
HierarchicalBackend::WorkPtr HierarchicalBackend::run(c10d::OpType type, const Tensors& results,
                                                      bool is_async, ShmQueue::Body body) {
  return queue_.run(type, results, !is_async, [this, body = std::move(body)] {
    try {
      const c10::NoGradGuard no_grad;
      body();
    } catch (const std::exception&) {
      parts_.segment->leave();
      throw;
    }
  });
}

// For each chunk: inside the node, then between nodes, then inside the node again. The last step
// runs one chunk later, so that the steps overlap.
void HierarchicalBackend::in_chunks(const at::Tensor& data,
                                    const std::function<void(const at::Tensor&)>& inside,
                                    const Start& between,
                                    const std::function<void(const at::Tensor&)>& after) {
  const at::Tensor flat = data.view({-1});
  const int64_t size = kChunkBytes / static_cast<int64_t>(data.element_size());
  struct Chunk {
    at::Tensor data;
    WorkPtr work;
  };
  std::deque<Chunk> under_way;
  const auto finish = [&] {
    Chunk& chunk = under_way.front();
    if (chunk.work != nullptr) chunk.work->wait();
    after(chunk.data);
    under_way.pop_front();
  };
  for (int64_t begin = 0; begin < flat.numel(); begin += size) {
    Chunk chunk{.data = flat.narrow(0, begin, std::min(size, flat.numel() - begin)), .work = {}};
    inside(chunk.data);
    if (is_first()) chunk.work = between(chunk.data);
    under_way.push_back(std::move(chunk));
    if (under_way.size() > 1) finish();
  }
  while (!under_way.empty()) finish();
}

HierarchicalBackend::WorkPtr HierarchicalBackend::allreduce(Tensors& tensors,
                                                            const c10d::AllreduceOptions& options) {
  if (tensors.size() != 1 || !is_dense(tensors) || !is_reducible(tensors[0], options.reduceOp)) {
    return parts_.all->allreduce(tensors, options);
  }
  const at::Tensor data = tensors[0].detach();
  const bool is_mean = options.reduceOp.op_ == c10d::ReduceOp::AVG;
  const auto op = is_mean ? c10d::ReduceOp::SUM : options.reduceOp.op_;
  const Reduction reduction{.op = op, .dtype = data.scalar_type()};
  check_reduction(reduction);
  return run(c10d::OpType::ALLREDUCE, tensors, options.asyncOp, [this, data, reduction, is_mean] {
    c10d::AllreduceOptions between;
    between.reduceOp = c10d::ReduceOp(reduction.op);
    in_chunks(
        data, [&](const at::Tensor& chunk) { inside_.reduce(bytes_of(chunk), reduction, 0); },
        [&](at::Tensor& chunk) {
          Tensors chunks{chunk};
          return parts_.between->allreduce(chunks, between);
        },
        [&](const at::Tensor& chunk) { inside_.broadcast(bytes_of(chunk), 0); });
    if (!is_mean) return;
    if (c10::isIntegralType(data.scalar_type(), false)) {
      data.div_(size_, "trunc");
    } else {
      data.div_(size_);
    }
  });
}

HierarchicalBackend::WorkPtr HierarchicalBackend::broadcast(Tensors& tensors,
                                                            const c10d::BroadcastOptions& options) {
  if (tensors.size() != 1 || !is_dense(tensors)) return parts_.all->broadcast(tensors, options);
  const at::Tensor data = tensors[0].detach();
  const auto root = static_cast<int>(options.rootRank);
  return run(c10d::OpType::BROADCAST, tensors, options.asyncOp, [this, data, root] {
    const int host = parts_.plan.host_of[static_cast<size_t>(root)];
    const bool is_here = parts_.plan.host_of[static_cast<size_t>(rank_)] == host;
    c10d::BroadcastOptions between;
    between.rootRank = host;
    in_chunks(
        data,
        [&](const at::Tensor& chunk) {
          if (is_here) inside_.broadcast(bytes_of(chunk), parts_.plan.place_of(root));
        },
        [&](at::Tensor& chunk) {
          Tensors chunks{chunk};
          return parts_.between->broadcast(chunks, between);
        },
        [&](const at::Tensor& chunk) {
          if (!is_here) inside_.broadcast(bytes_of(chunk), 0);
        });
  });
}

// The first rank of each node gathers its node's tensors, exchanges them with the other nodes, and
// broadcasts the result inside its node.
void HierarchicalBackend::all_gather(const at::Tensor& input, const Tensors& outputs) {
  const NodePlan& plan = parts_.plan;
  size_t most = 0;
  for (const std::vector<int>& ranks : plan.ranks) most = std::max(most, ranks.size());
  const auto width = static_cast<int64_t>(most);
  const at::Tensor all = at::empty({plan.num_hosts(), width, input.numel()}, input.options());
  const int host = plan.host_of[static_cast<size_t>(rank_)];
  at::Tensor own = all.select(0, host);
  std::vector<Bytes> places;
  for (size_t i = 0; is_first() && i < plan.neighbours(rank_).size(); ++i) {
    places.push_back(bytes_of(own.select(0, static_cast<int64_t>(i))));
  }
  inside_.gather(bytes_of(input), places, 0);
  if (is_first()) {
    std::vector<Tensors> lists(1);
    for (int i = 0; i < plan.num_hosts(); ++i) lists[0].push_back(all.select(0, i));
    lists[0][static_cast<size_t>(host)] = at::empty_like(own);
    Tensors inputs{own};
    parts_.between->allgather(lists, inputs)->wait();
  }
  inside_.broadcast(bytes_of(all), 0);
  for (int rank = 0; rank < size_; ++rank) {
    const at::Tensor& output = outputs[static_cast<size_t>(rank)];
    const int of = plan.host_of[static_cast<size_t>(rank)];
    output.copy_(all.select(0, of).select(0, plan.place_of(rank)).view(output.sizes()));
  }
}

HierarchicalBackend::WorkPtr HierarchicalBackend::allgather(std::vector<Tensors>& outputs,
                                                            Tensors& inputs,
                                                            const c10d::AllgatherOptions& options) {
  const bool is_even =
      inputs.size() == 1 && outputs.size() == 1 && is_dense(inputs) && is_dense(outputs[0]) &&
      outputs[0].size() == static_cast<size_t>(size_) &&
      std::ranges::all_of(outputs[0], [&](const at::Tensor& each) {
        return each.numel() == inputs[0].numel() && each.scalar_type() == inputs[0].scalar_type();
      });
  if (!is_even) return parts_.all->allgather(outputs, inputs, options);
  const at::Tensor input = inputs[0].detach();
  const Tensors all = outputs[0];
  return run(c10d::OpType::ALLGATHER, all, options.asyncOp,
             [this, input, all] { all_gather(input, all); });
}

HierarchicalBackend::WorkPtr HierarchicalBackend::all_gather_single(
    at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  if (!is_dense({output, input}) || output.numel() != input.numel() * size_ ||
      output.scalar_type() != input.scalar_type()) {
    return start_all_gather_single(*parts_.all, output, input, options);
  }
  const at::Tensor own = input.detach();
  Tensors all;
  const at::Tensor parts = output.detach().view({size_, -1});
  for (int rank = 0; rank < size_; ++rank) all.push_back(parts.select(0, rank));
  return run(c10d::OpType::_ALLGATHER_BASE, {output}, options.asyncOp,
             [this, own, all] { all_gather(own, all); });
}

HierarchicalBackend::WorkPtr HierarchicalBackend::barrier(const c10d::BarrierOptions& options) {
  return run(c10d::OpType::BARRIER, {}, options.asyncOp, [this] {
    inside_.barrier();
    if (is_first()) parts_.between->barrier()->wait();
    inside_.barrier();
  });
}

HierarchicalBackend::WorkPtr HierarchicalBackend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  return parts_.all->allreduce_coalesced(tensors, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::reduce(Tensors& tensors,
                                                         const c10d::ReduceOptions& options) {
  return parts_.all->reduce(tensors, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::gather(std::vector<Tensors>& outputs,
                                                         Tensors& inputs,
                                                         const c10d::GatherOptions& options) {
  return parts_.all->gather(outputs, inputs, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::scatter(Tensors& outputs,
                                                          std::vector<Tensors>& inputs,
                                                          const c10d::ScatterOptions& options) {
  return parts_.all->scatter(outputs, inputs, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::reduce_scatter(
    Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
  return parts_.all->reduce_scatter(outputs, inputs, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::reduce_scatter_single(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  return start_reduce_scatter_single(*parts_.all, output, input, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::all_to_all_single(
    at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
    std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) {
  return start_all_to_all_single(*parts_.all, output, input, output_sizes, input_sizes, options);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::send(Tensors& tensors, int to, int tag) {
  return parts_.all->send(tensors, to, tag);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::recv(Tensors& tensors, int from, int tag) {
  return parts_.all->recv(tensors, from, tag);
}

HierarchicalBackend::WorkPtr HierarchicalBackend::recvAnysource(Tensors& tensors, int tag) {
  return parts_.all->recvAnysource(tensors, tag);
}

}  // namespace rtrain::engine
