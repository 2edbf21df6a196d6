#include "host/engine/distributed/collectives.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <array>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/distributed/shm/collective_names.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

using Tensors = std::vector<at::Tensor>;

// A contiguous tensor without autograd history: the given one, or a copy that put_back() copies
// into the given one.
struct Dense {
  explicit Dense(const at::Tensor& tensor) : target(tensor.detach()), data(target.contiguous()) {}

  void put_back() const {
    if (!data.is_same(target)) target.copy_(data);
  }

  at::Tensor target;
  at::Tensor data;
};

std::vector<Dense> dense_of(const Tensors& tensors) { return {tensors.begin(), tensors.end()}; }

Tensors data_of(const std::vector<Dense>& all) {
  Tensors out;
  for (const Dense& each : all) out.push_back(each.data);
  return out;
}

auto putting_back(std::vector<Dense> all) {
  return [all = std::move(all)] {
    for (const Dense& each : all) each.put_back();
  };
}

void check_count(const GroupPtr& group, const char* operation, const Tensors& tensors) {
  if (tensors.size() == static_cast<size_t>(group->world_size())) return;
  throw Error(Code::kArgument, cat(operation, ": ", tensors.size(), " tensors for ",
                                   group->world_size(), " ranks: give one for each rank"));
}

Tensors alike(const at::Tensor& tensor, int count) {
  Tensors out;
  for (int i = 0; i < count; ++i) out.push_back(at::empty_like(tensor));
  return out;
}

bool is_recorded() { return RecordingListener::current() != nullptr; }

}  // namespace

GroupWorkPtr recorded(const GroupPtr& group, const char* operation, std::string_view given,
                      bool is_async, const Tensors& changed, const Tensors& read,
                      StartCollective start, Effect::Order order) {
  const auto work = std::make_shared<GroupWorkPtr>();
  const auto body = [work, start = std::move(start), is_async](const Tensors& all,
                                                               const Tensors& inputs) {
    *work = start(all, inputs, is_async);
  };
  record_effect(Effect(is_async ? cat(operation, " begins") : operation,
                       cat(given, " ", group->options().prefix), body, order),
                changed, read);
  return is_async ? GroupWork::recorded(group, operation, changed, work)
                  : GroupWork::ended(group, changed);
}

c10d::ReduceOp reduce_op(std::string_view name) {
  using Type = c10d::ReduceOp::RedOpType;
  static constexpr std::array<std::pair<std::string_view, Type>, 8> kOps = {
      {{"sum", Type::SUM},
       {"avg", Type::AVG},
       {"min", Type::MIN},
       {"max", Type::MAX},
       {"product", Type::PRODUCT},
       {"band", Type::BAND},
       {"bor", Type::BOR},
       {"bxor", Type::BXOR}}};
  for (const auto& [known, type] : kOps) {
    if (known == name) return c10d::ReduceOp(type);
  }
  throw Error(Code::kArgument, cat("unknown reduce operation '", name,
                                   "': use sum, avg, min, max, product, band, bor or bxor"));
}

bool async_op(const GroupPtr& group, const at::Tensor& tensor, bool is_async) {
  return is_async || !group->runs_in_call() || !tensor.is_cpu();
}

GroupWorkPtr all_reduce(const GroupPtr& group, const at::Tensor& tensor, std::string_view op,
                        bool is_async) {
  if (is_recorded()) {
    return recorded(group, "all_reduce", op, is_async, {tensor}, {},
                    [group, op = std::string(op)](const auto& changed, const auto&, bool async) {
                      return all_reduce(group, changed[0], op, async);
                    });
  }
  c10d::AllreduceOptions options;
  options.asyncOp = async_op(group, tensor, is_async);
  options.reduceOp = reduce_op(op);
  group->check_device("all_reduce", tensor);
  const c10::NoGradGuard no_grad;
  const Dense dense(tensor);
  return GroupWork::begin(
      group, "all_reduce", is_async, {tensor},
      [&] {
        Tensors tensors{dense.data};
        return group->process_group()->allreduce(tensors, options);
      },
      [dense] { dense.put_back(); });
}

GroupWorkPtr reduce(const GroupPtr& group, const at::Tensor& tensor, int dst, std::string_view op,
                    bool is_async) {
  if (is_recorded()) {
    return recorded(
        group, "reduce", cat(op, " to ", dst), is_async, {tensor}, {},
        [group, dst, op = std::string(op)](const auto& changed, const auto&, bool async) {
          return reduce(group, changed[0], dst, op, async);
        });
  }
  c10d::ReduceOptions options;
  options.asyncOp = async_op(group, tensor, is_async);
  options.reduceOp = reduce_op(op);
  options.rootRank = group->member("reduce", dst);
  group->check_device("reduce", tensor);
  const c10::NoGradGuard no_grad;
  const Dense dense(tensor);
  return GroupWork::begin(
      group, "reduce", is_async, {tensor},
      [&] {
        Tensors tensors{dense.data};
        return group->process_group()->reduce(tensors, options);
      },
      [dense] { dense.put_back(); });
}

GroupWorkPtr broadcast(const GroupPtr& group, const at::Tensor& tensor, int src, bool is_async) {
  if (is_recorded()) {
    return recorded(group, "broadcast", cat("from ", src), is_async, {tensor}, {},
                    [group, src](const auto& changed, const auto&, bool async) {
                      return broadcast(group, changed[0], src, async);
                    });
  }
  c10d::BroadcastOptions options;
  options.asyncOp = async_op(group, tensor, is_async);
  options.rootRank = group->member("broadcast", src);
  group->check_device("broadcast", tensor);
  const c10::NoGradGuard no_grad;
  const Dense dense(tensor);
  return GroupWork::begin(
      group, "broadcast", is_async, {tensor},
      [&] {
        Tensors tensors{dense.data};
        return group->process_group()->broadcast(tensors, options);
      },
      [dense] { dense.put_back(); });
}

GroupWorkPtr all_gather(const GroupPtr& group, Tensors outputs, const at::Tensor& tensor,
                        bool is_async) {
  c10d::AllgatherOptions options;
  options.asyncOp = async_op(group, tensor, is_async);
  group->check_device("all_gather", tensor);
  const c10::NoGradGuard no_grad;
  const at::Tensor own = tensor.detach().contiguous();
  if (outputs.empty()) outputs = alike(own, group->world_size());
  check_count(group, "all_gather", outputs);
  if (is_recorded()) {
    return recorded(group, "all_gather", "", is_async, outputs, {own},
                    [group](const auto& changed, const auto& read, bool async) {
                      return all_gather(group, changed, read[0], async);
                    });
  }
  std::vector<Dense> all = dense_of(outputs);
  return GroupWork::begin(
      group, "all_gather", is_async, std::move(outputs),
      [&] {
        std::vector<Tensors> lists{data_of(all)};
        Tensors inputs{own};
        return group->process_group()->allgather(lists, inputs, options);
      },
      putting_back(all));
}

GroupWorkPtr all_gather_into_tensor(const GroupPtr& group, const at::Tensor& output,
                                    const at::Tensor& input, bool is_async) {
  if (is_recorded()) {
    return recorded(group, "all_gather_into_tensor", "", is_async, {output}, {input},
                    [group](const auto& changed, const auto& read, bool async) {
                      return all_gather_into_tensor(group, changed[0], read[0], async);
                    });
  }
  c10d::AllgatherOptions options;
  options.asyncOp = async_op(group, output, is_async);
  group->check_device("all_gather_into_tensor", output);
  const c10::NoGradGuard no_grad;
  Dense dense(output);
  at::Tensor own = input.detach().contiguous();
  return GroupWork::begin(
      group, "all_gather_into_tensor", is_async, {output},
      [&] { return start_all_gather_single(*group->process_group(), dense.data, own, options); },
      [dense] { dense.put_back(); });
}

GroupWorkPtr gather(const GroupPtr& group, const at::Tensor& tensor, Tensors outputs, int dst,
                    bool is_async) {
  c10d::GatherOptions options;
  options.asyncOp = async_op(group, tensor, is_async);
  options.rootRank = group->member("gather", dst);
  group->check_device("gather", tensor);
  const c10::NoGradGuard no_grad;
  const at::Tensor own = tensor.detach().contiguous();
  const bool is_root = group->rank() == options.rootRank;
  if (is_root && outputs.empty()) outputs = alike(own, group->world_size());
  if (is_root) check_count(group, "gather", outputs);
  if (!is_root) outputs.clear();
  std::vector<Dense> all = dense_of(outputs);
  return GroupWork::begin(
      group, "gather", is_async, std::move(outputs),
      [&] {
        std::vector<Tensors> lists;
        if (is_root) lists.push_back(data_of(all));
        Tensors inputs{own};
        return group->process_group()->gather(lists, inputs, options);
      },
      putting_back(all));
}

GroupWorkPtr scatter(const GroupPtr& group, const at::Tensor& output, const Tensors& inputs,
                     int src, bool is_async) {
  c10d::ScatterOptions options;
  options.asyncOp = async_op(group, output, is_async);
  options.rootRank = group->member("scatter", src);
  const bool is_root = group->rank() == options.rootRank;
  if (is_root) check_count(group, "scatter", inputs);
  group->check_device("scatter", output);
  const c10::NoGradGuard no_grad;
  const Dense dense(output);
  return GroupWork::begin(
      group, "scatter", is_async, {output},
      [&] {
        std::vector<Tensors> lists;
        if (is_root) lists.push_back(data_of(dense_of(inputs)));
        Tensors outputs{dense.data};
        return group->process_group()->scatter(outputs, lists, options);
      },
      [dense] { dense.put_back(); });
}

GroupWorkPtr reduce_scatter_tensor(const GroupPtr& group, const at::Tensor& output,
                                   const at::Tensor& input, std::string_view op, bool is_async) {
  if (is_recorded()) {
    return recorded(
        group, "reduce_scatter", op, is_async, {output}, {input},
        [group, op = std::string(op)](const auto& changed, const auto& read, bool async) {
          return reduce_scatter_tensor(group, changed[0], read[0], op, async);
        });
  }
  c10d::ReduceScatterOptions options;
  options.asyncOp = async_op(group, output, is_async);
  options.reduceOp = reduce_op(op);
  group->check_device("reduce_scatter", output);
  const c10::NoGradGuard no_grad;
  Dense dense(output);
  at::Tensor all = input.detach().contiguous();
  return GroupWork::begin(
      group, "reduce_scatter", is_async, {output},
      [&] {
        return start_reduce_scatter_single(*group->process_group(), dense.data, all, options);
      },
      [dense] { dense.put_back(); });
}

GroupWorkPtr reduce_scatter(const GroupPtr& group, const at::Tensor& output, const Tensors& inputs,
                            std::string_view op, bool is_async) {
  check_count(group, "reduce_scatter", inputs);
  Tensors flat;
  for (const at::Tensor& input : inputs) {
    if (input.sizes() != output.sizes()) {
      throw Error(Code::kArgument, "reduce_scatter: every input must have the shape of the output");
    }
    flat.push_back(input.detach().reshape({-1}));
  }
  return reduce_scatter_tensor(group, output, at::cat(flat), op, is_async);
}

GroupWorkPtr all_to_all_single(const GroupPtr& group, const at::Tensor& output,
                               const at::Tensor& input, std::vector<int64_t> output_sizes,
                               std::vector<int64_t> input_sizes, bool is_async) {
  c10d::AllToAllOptions options;
  options.asyncOp = async_op(group, output, is_async);
  group->check_device("all_to_all", output);
  const c10::NoGradGuard no_grad;
  Dense dense(output);
  at::Tensor all = input.detach().contiguous();
  return GroupWork::begin(
      group, "all_to_all", is_async, {output},
      [&] {
        return start_all_to_all_single(*group->process_group(), dense.data, all, output_sizes,
                                       input_sizes, options);
      },
      [dense] { dense.put_back(); });
}

// Packs the lists into one flat tensor each, because not every backend accepts lists.
GroupWorkPtr all_to_all(const GroupPtr& group, const Tensors& outputs, const Tensors& inputs,
                        bool is_async) {
  check_count(group, "all_to_all", inputs);
  check_count(group, "all_to_all", outputs);
  c10d::AllToAllOptions options;
  options.asyncOp = async_op(group, outputs[0], is_async);
  group->check_device("all_to_all", outputs[0]);
  const c10::NoGradGuard no_grad;
  Tensors flat;
  std::vector<int64_t> input_sizes, output_sizes;
  int64_t count = 0;
  for (const at::Tensor& each : inputs) {
    flat.push_back(each.detach().reshape({-1}));
    input_sizes.push_back(each.numel());
  }
  for (const at::Tensor& each : outputs) {
    output_sizes.push_back(each.numel());
    count += each.numel();
  }
  at::Tensor received = at::empty({count}, outputs[0].options());
  at::Tensor sent = at::cat(flat);
  return GroupWork::begin(
      group, "all_to_all", is_async, outputs,
      [&] {
        return start_all_to_all_single(*group->process_group(), received, sent, output_sizes,
                                       input_sizes, options);
      },
      [outputs, received] {
        int64_t begin = 0;
        for (const at::Tensor& each : outputs) {
          each.detach().copy_(received.narrow(0, begin, each.numel()).view_as(each));
          begin += each.numel();
        }
      });
}

GroupWorkPtr barrier(const GroupPtr& group, bool is_async) {
  if (is_recorded()) {
    return recorded(
        group, "barrier", "", is_async, {}, {},
        [group](const auto&, const auto&, bool async) { return barrier(group, async); },
        Effect::Order::kOfAll);
  }
  c10d::BarrierOptions options;
  options.asyncOp = is_async || !group->runs_in_call() || group->uses_nccl();
  return GroupWork::begin(group, "barrier", is_async, {},
                          [&] { return group->process_group()->barrier(options); });
}

void monitored_barrier(const GroupPtr& group, std::chrono::milliseconds timeout) {
  c10d::BarrierOptions options;
  options.device = at::Device(at::kCPU);
  options.asyncOp = !group->runs_in_call();
  constexpr const char* kOperation = "monitored_barrier";
  group->with_timeout(kOperation, timeout, [&] {
    GroupWork::begin(group, kOperation, false, {},
                     [&] { return group->process_group()->barrier(options); });
  });
}

GroupWorkPtr send(const GroupPtr& group, const at::Tensor& tensor, int dst, int tag,
                  bool is_async) {
  const int to = group->peer("send", dst);
  group->check_device("send", tensor);
  const c10::NoGradGuard no_grad;
  const at::Tensor own = tensor.detach().contiguous();
  return GroupWork::begin(
      group, "send", is_async, {tensor},
      [&] {
        Tensors tensors{own};
        return group->process_group()->send(tensors, to, tag);
      },
      nullptr, WaitKind::kAgreement);
}

GroupWorkPtr receive(const GroupPtr& group, const at::Tensor& tensor, int src, int tag,
                     bool is_async) {
  const int from = src < 0 ? -1 : group->peer("recv", src);
  group->check_device("recv", tensor);
  if (from < 0 && tensor.is_cuda() && group->uses_nccl()) {
    throw Error(Code::kArgument, "recv: over NCCL it must be said from which rank: give src");
  }
  const c10::NoGradGuard no_grad;
  const Dense dense(tensor);
  return GroupWork::begin(
      group, "recv", is_async, {tensor},
      [&] {
        Tensors tensors{dense.data};
        return from < 0 ? group->process_group()->recvAnysource(tensors, tag)
                        : group->process_group()->recv(tensors, from, tag);
      },
      [dense] { dense.put_back(); }, WaitKind::kAgreement);
}

}  // namespace rtrain::engine
