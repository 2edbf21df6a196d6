#include "host/engine/distributed/shm/backend.h"

#include <ATen/core/grad_mode.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

using Bytes = ShmCollectives::Bytes;
using Segments = ShmCollectives::Segments;
using Tensors = ShmBackend::Tensors;

thread_local bool must_not_wait = false;

// Whether to run on the caller's thread. With one core, a thread of the backend would only compete
// with the caller.
template <class Options>
bool runs_at_once(const Options& options) {
  if (!options.asyncOp) return true;
  if (must_not_wait) return false;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof(cores), &cores) != 0 || CPU_COUNT(&cores) < 2;
}

// A contiguous CPU tensor: the given one, or a copy that put_back() copies into the given one.
class Dense {
 public:
  explicit Dense(const at::Tensor& tensor) : tensor_(tensor.detach()) {
    if (!tensor.device().is_cpu() || tensor.layout() != c10::kStrided) {
      throw Error(Code::kArgument,
                  "the backend shm moves dense tensors of the CPU: move it there with :cpu(), or "
                  "set torch_config = {backend = 'gloo'}");
    }
    dense_ = tensor_.contiguous();
  }

  Bytes bytes() const {
    return {static_cast<std::byte*>(dense_.mutable_data_ptr()), dense_.nbytes()};
  }
  void put_back() const {
    if (dense_.is_same(tensor_)) return;
    const c10::NoGradGuard no_grad;
    tensor_.copy_(dense_);
  }

 private:
  at::Tensor tensor_;
  at::Tensor dense_;
};

std::vector<Dense> dense_of(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }

std::vector<Bytes> bytes_of(const std::vector<Dense>& tensors) {
  std::vector<Bytes> out;
  for (const Dense& each : tensors) out.push_back(each.bytes());
  return out;
}

void put_back(const std::vector<Dense>& tensors) {
  for (const Dense& each : tensors) each.put_back();
}

const at::Tensor& only(const Tensors& tensors, const char* operation) {
  if (tensors.size() == 1) return tensors[0];
  throw Error(Code::kArgument, cat(operation, ": ", tensors.size(),
                                   " tensors, the backend shm takes one of each rank"));
}

// Checks that there is a list for each of `count` tensors, with one tensor for each rank.
void check_lists(const std::vector<Tensors>& lists, size_t count, size_t ranks,
                 const char* operation) {
  const bool has_all =
      count > 0 && lists.size() == count &&
      std::ranges::all_of(lists, [&](const Tensors& each) { return each.size() == ranks; });
  if (has_all) return;
  throw Error(Code::kArgument,
              cat(operation, ": give one tensor for each of the ", ranks, " ranks"));
}

// Returns the list if it has one tensor for each rank, else throws.
const Tensors& for_ranks(const std::vector<Tensors>& lists, size_t ranks, const char* operation) {
  if (lists.size() == 1 && lists[0].size() == ranks) return lists[0];
  throw Error(Code::kArgument,
              cat(operation, ": give one tensor for each of the ", ranks, " ranks"));
}

void check_sizes(const Tensors& tensors, const at::Tensor& wanted, const char* operation) {
  for (const at::Tensor& each : tensors) {
    if (each.nbytes() == wanted.nbytes() && each.scalar_type() == wanted.scalar_type()) continue;
    throw Error(Code::kArgument,
                cat(operation, ": the tensors of all ranks have one shape and dtype"));
  }
}

// Divides one tensor into equal parts, one for each rank.
std::vector<Bytes> parts_of(Bytes all, size_t ranks, const char* operation) {
  if (all.size() % ranks != 0) {
    throw Error(Code::kArgument,
                cat(operation, ": the tensor for all ranks cannot be divided among ", ranks));
  }
  std::vector<Bytes> out;
  const size_t size = all.size() / ranks;
  for (size_t rank = 0; rank < ranks; ++rank) out.push_back(all.subspan(rank * size, size));
  return out;
}

// Divides the tensor into parts with the given numbers of rows, or into equal parts if `rows` is
// empty.
std::vector<Bytes> row_parts(const at::Tensor& tensor, Bytes all, const std::vector<int64_t>& rows,
                             size_t ranks) {
  if (rows.empty()) return parts_of(all, ranks, "all_to_all");
  const size_t row = tensor.size(0) == 0 ? 0 : all.size() / static_cast<size_t>(tensor.size(0));
  std::vector<Bytes> out;
  size_t begin = 0;
  for (const int64_t count : rows) {
    const size_t bytes = static_cast<size_t>(count) * row;
    if (begin + bytes > all.size()) break;
    out.push_back(all.subspan(begin, bytes));
    begin += bytes;
  }
  if (out.size() == ranks && begin == all.size()) return out;
  throw Error(Code::kArgument, "all_to_all: the sizes do not add up to the tensor's rows");
}

// A message. The thread in wait() transfers its bytes.
class MessageWork final : public c10d::Work {
 public:
  MessageWork(c10d::OpType type, std::shared_ptr<ShmMessages> messages,
              ShmMessages::MessagePtr message, Dense data)
      : Work(-1, type),
        messages_(std::move(messages)),
        message_(std::move(message)),
        data_(std::move(data)) {}

  bool isCompleted() override { return messages_->has_ended(*message_); }
  bool wait(std::chrono::milliseconds) override {
    messages_->wait(*message_);
    if (opType_ == c10d::OpType::SEND) return true;
    data_.put_back();
    return true;
  }
  int sourceRank() const override { return message_->sender(); }

 private:
  std::shared_ptr<ShmMessages> messages_;
  ShmMessages::MessagePtr message_;
  Dense data_;
};

Reduction reduction_of(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  const Reduction out{.op = op.op_, .dtype = tensor.scalar_type()};
  check_reduction(out);
  return out;
}

}  // namespace

ShmBackend::ShmBackend(std::shared_ptr<ShmSegment> segment, std::chrono::milliseconds timeout)
    : Renamed<c10d::Backend>(segment->rank(), segment->num_ranks()),
      segment_(std::move(segment)),
      arena_(std::make_shared<ShmArena>(segment_)),
      collectives_(*segment_, timeout),
      messages_(std::make_shared<ShmMessages>(segment_, timeout)) {}

ShmBackend::~ShmBackend() {
  segment_->leave();
  messages_->close();
}

ShmBackend::AtOnce::AtOnce() { must_not_wait = true; }
ShmBackend::AtOnce::~AtOnce() { must_not_wait = false; }

void ShmBackend::setTimeout(std::chrono::milliseconds timeout) {
  collectives_.set_timeout(timeout);
  messages_->set_timeout(timeout);
}

ShmBackend::WorkPtr ShmBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const Dense data(only(tensors, "broadcast"));
  const int root = static_cast<int>(options.rootRank);
  return queue_.run(c10d::OpType::BROADCAST, tensors, runs_at_once(options), [this, data, root] {
    collectives_.broadcast(data.bytes(), root);
    data.put_back();
  });
}

ShmBackend::WorkPtr ShmBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = only(tensors, "all_reduce");
  const Dense data(tensor);
  const Reduction reduction = reduction_of(tensor, options.reduceOp);
  return queue_.run(c10d::OpType::ALLREDUCE, tensors, runs_at_once(options),
                    [this, data, reduction] {
                      collectives_.all_reduce(data.bytes(), reduction);
                      data.put_back();
                    });
}

ShmBackend::WorkPtr ShmBackend::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  const std::vector<Dense> all = dense_of(tensors);
  std::vector<Reduction> reductions;
  for (const at::Tensor& each : tensors) {
    reductions.push_back(reduction_of(each, options.reduceOp));
  }
  return queue_.run(c10d::OpType::ALLREDUCE_COALESCED, tensors, runs_at_once(options),
                    [this, all, reductions] {
                      for (size_t i = 0; i < all.size(); ++i) {
                        collectives_.all_reduce(all[i].bytes(), reductions[i]);
                      }
                      put_back(all);
                    });
}

ShmBackend::WorkPtr ShmBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = only(tensors, "reduce");
  const Dense data(tensor);
  const Reduction reduction = reduction_of(tensor, options.reduceOp);
  const int root = static_cast<int>(options.rootRank);
  return queue_.run(c10d::OpType::REDUCE, tensors, runs_at_once(options),
                    [this, data, reduction, root] {
                      collectives_.reduce(data.bytes(), reduction, root);
                      data.put_back();
                    });
}

// One tensor or several ones, each with the outputs for it.
ShmBackend::WorkPtr ShmBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) {
  check_lists(outputs, inputs.size(), static_cast<size_t>(size_), "all_gather");
  const std::vector<Dense> own = dense_of(inputs);
  std::vector<std::vector<Dense>> all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    all.push_back(dense_of(outputs[i]));
    if (all[i][static_cast<size_t>(rank_)].bytes().size() != own[i].bytes().size()) {
      throw Error(Code::kArgument, "all_gather: this rank's output has not the size of its input");
    }
  }
  return queue_.run(c10d::OpType::ALLGATHER, outputs[0], runs_at_once(options), [this, own, all] {
    for (size_t i = 0; i < own.size(); ++i) {
      collectives_.all_gather(own[i].bytes(), bytes_of(all[i]));
      put_back(all[i]);
    }
  });
}

ShmBackend::WorkPtr ShmBackend::all_gather_single(at::Tensor& output, at::Tensor& input,
                                                  const c10d::AllgatherOptions& options) {
  const Dense all(output);
  const Dense own(input);
  const auto parts = parts_of(all.bytes(), static_cast<size_t>(size_), "all_gather_into_tensor");
  if (parts[0].size() != own.bytes().size()) {
    throw Error(Code::kArgument,
                "all_gather_into_tensor: the output has not the size of all ranks' inputs");
  }
  return queue_.run(c10d::OpType::_ALLGATHER_BASE, {output}, runs_at_once(options),
                    [this, all, own, parts] {
                      collectives_.all_gather(own.bytes(), parts);
                      all.put_back();
                    });
}

ShmBackend::WorkPtr ShmBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                       const c10d::GatherOptions& options) {
  const int root = static_cast<int>(options.rootRank);
  const at::Tensor& own = only(inputs, "gather");
  const Dense input(own);
  Tensors results;
  if (rank_ == root) results = for_ranks(outputs, static_cast<size_t>(size_), "gather");
  check_sizes(results, own, "gather");
  const std::vector<Dense> all = dense_of(results);
  return queue_.run(c10d::OpType::GATHER, results, runs_at_once(options), [this, input, all, root] {
    collectives_.gather(input.bytes(), bytes_of(all), root);
    put_back(all);
  });
}

ShmBackend::WorkPtr ShmBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                        const c10d::ScatterOptions& options) {
  const int root = static_cast<int>(options.rootRank);
  const at::Tensor& own = only(outputs, "scatter");
  const Dense output(own);
  Tensors given;
  if (rank_ == root) given = for_ranks(inputs, static_cast<size_t>(size_), "scatter");
  check_sizes(given, own, "scatter");
  const std::vector<Dense> all = dense_of(given);
  return queue_.run(c10d::OpType::SCATTER, outputs, runs_at_once(options),
                    [this, output, all, root] {
                      collectives_.scatter(bytes_of(all), output.bytes(), root);
                      output.put_back();
                    });
}

// One tensor or several ones, each with the inputs for it.
ShmBackend::WorkPtr ShmBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                               const c10d::ReduceScatterOptions& options) {
  check_lists(inputs, outputs.size(), static_cast<size_t>(size_), "reduce_scatter");
  const std::vector<Dense> own = dense_of(outputs);
  std::vector<std::vector<Dense>> all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_sizes({inputs[i][static_cast<size_t>(rank_)]}, outputs[i], "reduce_scatter");
    all.push_back(dense_of(inputs[i]));
  }
  const Reduction reduction = reduction_of(outputs[0], options.reduceOp);
  return queue_.run(c10d::OpType::REDUCE_SCATTER, outputs, runs_at_once(options),
                    [this, own, all, reduction] {
                      std::vector<Segments> by_rank(static_cast<size_t>(size_));
                      for (const std::vector<Dense>& each : all) {
                        for (size_t rank = 0; rank < by_rank.size(); ++rank) {
                          by_rank[rank].push_back(each[rank].bytes());
                        }
                      }
                      collectives_.reduce_scatter(by_rank, bytes_of(own), reduction);
                      put_back(own);
                    });
}

ShmBackend::WorkPtr ShmBackend::reduce_scatter_single(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) {
  const Dense own(output);
  const Dense all(input);
  const auto parts = parts_of(all.bytes(), static_cast<size_t>(size_), "reduce_scatter_tensor");
  if (parts[0].size() != own.bytes().size()) {
    throw Error(Code::kArgument,
                "reduce_scatter_tensor: the input has not the size of all ranks' outputs");
  }
  const Reduction reduction = reduction_of(output, options.reduceOp);
  return queue_.run(c10d::OpType::_REDUCE_SCATTER_BASE, {output}, runs_at_once(options),
                    [this, own, all, parts, reduction] {
                      std::vector<Segments> by_rank;
                      for (const Bytes& part : parts) by_rank.push_back({part});
                      collectives_.reduce_scatter(by_rank, {own.bytes()}, reduction);
                      own.put_back();
                    });
}

ShmBackend::WorkPtr ShmBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                         const c10d::AllToAllOptions& options) {
  const auto ranks = static_cast<size_t>(size_);
  if (outputs.size() != ranks || inputs.size() != ranks) {
    throw Error(Code::kArgument,
                cat("all_to_all: give one tensor to and from each of the ", ranks, " ranks"));
  }
  const std::vector<Dense> from = dense_of(outputs);
  const std::vector<Dense> to = dense_of(inputs);
  return queue_.run(c10d::OpType::ALLTOALL, outputs, runs_at_once(options), [this, from, to] {
    collectives_.all_to_all(bytes_of(to), bytes_of(from));
    put_back(from);
  });
}

ShmBackend::WorkPtr ShmBackend::all_to_all_single(at::Tensor& output, at::Tensor& input,
                                                  std::vector<int64_t>& output_sizes,
                                                  std::vector<int64_t>& input_sizes,
                                                  const c10d::AllToAllOptions& options) {
  const auto ranks = static_cast<size_t>(size_);
  const Dense from(output);
  const Dense to(input);
  const std::vector<Bytes> from_parts = row_parts(output, from.bytes(), output_sizes, ranks);
  const std::vector<Bytes> to_parts = row_parts(input, to.bytes(), input_sizes, ranks);
  return queue_.run(c10d::OpType::ALLTOALL_BASE, {output}, runs_at_once(options),
                    [this, from, to, from_parts, to_parts] {
                      collectives_.all_to_all(to_parts, from_parts);
                      from.put_back();
                    });
}

ShmBackend::WorkPtr ShmBackend::barrier(const c10d::BarrierOptions& options) {
  return queue_.run(c10d::OpType::BARRIER, {}, runs_at_once(options),
                    [this] { collectives_.barrier(); });
}

ShmBackend::WorkPtr ShmBackend::send(Tensors& tensors, int to, int tag) {
  const Dense data(only(tensors, "send"));
  auto message = messages_->send(data.bytes(), to, tag, std::make_shared<Dense>(data));
  if (must_not_wait) messages_->move_on_thread();
  return c10::make_intrusive<MessageWork>(c10d::OpType::SEND, messages_, std::move(message), data);
}

ShmBackend::WorkPtr ShmBackend::recv(Tensors& tensors, int from, int tag) {
  const Dense data(only(tensors, "recv"));
  auto message = messages_->receive(data.bytes(), from, tag, std::make_shared<Dense>(data));
  if (must_not_wait) messages_->move_on_thread();
  return c10::make_intrusive<MessageWork>(c10d::OpType::RECV, messages_, std::move(message), data);
}

ShmBackend::WorkPtr ShmBackend::recvAnysource(Tensors& tensors, int tag) {
  return recv(tensors, -1, tag);
}

}  // namespace rtrain::engine
