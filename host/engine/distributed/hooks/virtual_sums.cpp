#include "host/engine/distributed/hooks/virtual_sums.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/distributed/shm/collective_names.h"

namespace rtrain::engine {
namespace {

class VirtualHook final : public c10d::CppCommHookInterface<std::shared_ptr<VirtualSums>> {
 public:
  using CppCommHookInterface::CppCommHookInterface;

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    return state_->add(bucket);
  }
};

VirtualSums::FuturePtr finished(const at::Tensor& buffer) {
  std::vector<c10::Device> devices;
  if (!buffer.is_cpu()) devices.push_back(buffer.device());
  auto future =
      c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get(), std::move(devices));
  future->markCompleted(buffer);
  return future;
}

void add_to(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right) {
  at::Tensor sum = out;
  at::add_out(sum, left, right);
}

}  // namespace

void VirtualSums::Bucket::clear() {
  for (const at::Tensor& value : values) {
    if (value.defined()) unused.push_back(value);
  }
  values.clear();
  tree.clear();
}

VirtualSums::VirtualSums(VirtualSumsOptions options) : options_(std::move(options)) {
  const int num_ranks = options_.group->getSize();
  RT_CHECK(options_.num_virtual >= num_ranks);
  range_ = range_of(options_.group->getRank());
  std::vector<SumNode> all;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const LeafRange range = range_of(rank);
    pieces_.push_back(SumTree::pieces(options_.num_virtual, range.begin, range.end));
    all.insert(all.end(), pieces_.back().begin(), pieces_.back().end());
  }
  additions_ = SumTree::additions(options_.num_virtual, all);
  // A sum of two has the same bits in either order.
  can_reduce_ = SumTree::is_tree_of_parts(options_.num_virtual, pieces_) &&
                (options_.adds_in_tree || num_ranks <= 2);
}

void VirtualSums::begin(int virtual_rank, const std::vector<at::Tensor>& params) {
  RT_CHECK(virtual_rank >= range_.begin && virtual_rank < range_.end);
  const int expected = range_.begin + num_done_;
  if (virtual_rank == current_) {
    if (current_ == expected) return;  // a second forward before the backward of both
    throw Error(
        Code::kUser,
        cat("virtual_workers: a second forward pass with gradients of virtual rank ", current_,
            " after its backward pass: add up the losses of a batch and call backward once, "
            "or put the passes before the last one into model:no_sync"));
  }
  current_ = virtual_rank;
  if (virtual_rank == range_.begin) {
    num_done_ = 0;
    has_added_ = false;
    for (Bucket& bucket : buckets_) bucket.clear();  // left by a step that was not ended
    return put_aside(params);
  }
  if (virtual_rank == expected) return;
  throw Error(Code::kUser,
              cat("virtual_workers: virtual rank ", expected,
                  " had no forward pass with gradients in this step, and virtual rank ",
                  virtual_rank, " has one: all of them need one"));
}

void VirtualSums::end(bool is_left) {
  const int ended = current_;
  current_ = -1;
  if (is_left || ended < 0 || ended < range_.begin + num_done_) return;
  throw Error(
      Code::kUser,
      cat("virtual_workers: the batch of virtual rank ", ended,
          " had a forward pass with gradients and no backward pass that exchanges them: call "
          "backward once for each batch, and forwards without one in torch.no_grad. To "
          "accumulate over several batches leave no_sync out: call zero_grad and step at the "
          "last one"));
}

LeafRange VirtualSums::range_of(int rank) const {
  return options_.shares.empty()
             ? LeafRange::of(options_.num_virtual, rank, options_.group->getSize())
             : LeafRange::of(options_.shares, rank);
}

// Gradients that the step finds are not those of one virtual rank.
void VirtualSums::put_aside(const std::vector<at::Tensor>& params) {
  carried_.clear();
  for (const at::Tensor& param : params) {
    const at::Tensor& grad = param.grad();
    if (!grad.defined() || zeroed_.count(param.unsafeGetTensorImpl()) > 0) continue;
    carried_[param.unsafeGetTensorImpl()] = grad.detach().clone();
    grad.detach().zero_();
  }
  zeroed_.clear();
}

void VirtualSums::note_zeroed(const std::vector<at::Tensor>& params) {
  for (const at::Tensor& param : params) {
    zeroed_.insert(param.unsafeGetTensorImpl());
    if (!has_added_) carried_.erase(param.unsafeGetTensorImpl());
  }
}

VirtualSums::Bucket& VirtualSums::bucket_of(size_t index) {
  while (buckets_.size() <= index) {
    buckets_.push_back(Bucket{.tree = SumTree(options_.num_virtual), .values = {}, .unused = {}});
  }
  return buckets_[index];
}

// Appends the gradients of the current virtual rank. The last value may be the buffer itself.
void VirtualSums::append(Bucket& bucket, const at::Tensor& buffer) {
  bucket.values.push_back(buffer);
  bucket.tree.push({0, current_}, [&](size_t to) {
    at::Tensor left = bucket.values[to], right = bucket.values[to + 1];
    bucket.values.pop_back();
    const bool keeps_buffer = is_last() && right.is_same(buffer);
    add_to(keeps_buffer ? right : left, left, right);
    bucket.values.back() = keeps_buffer ? right : left;
    if (keeps_buffer || !right.is_same(buffer)) {
      bucket.unused.push_back(keeps_buffer ? left : right);
    }
  });
}

VirtualSums::Carried VirtualSums::carried_of(c10d::GradBucket& bucket) const {
  Carried out;
  if (carried_.empty()) return out;
  const std::vector<at::Tensor>& params = bucket.getParameters();
  const std::vector<at::Tensor> gradients = bucket.getGradients();
  for (size_t i = 0; i < params.size(); ++i) {
    const auto found = carried_.find(params[i].unsafeGetTensorImpl());
    if (found != carried_.end()) out.emplace_back(gradients[i], found->second);
  }
  return out;
}

VirtualSums::FuturePtr VirtualSums::add(c10d::GradBucket& bucket) {
  const at::Tensor buffer = bucket.getBuffer();
  if (current_ < 0) {
    throw Error(Code::kUser,
                "virtual_workers: a backward pass outside of a loop over a loader of "
                "train.torch.prepare_data_loader: there gradients belong to no virtual rank");
  }
  if (current_ != range_.begin + num_done_) {
    throw Error(Code::kUser,
                cat("virtual_workers: a second backward pass of virtual rank ", current_,
                    ": add up the losses of a batch and call backward once"));
  }
  Bucket& own = bucket_of(bucket.getIndex());
  if (!own.unused.empty() && own.unused[0].sizes() != buffer.sizes()) own.unused.clear();
  append(own, buffer);
  has_added_ = true;
  const bool is_end = bucket.isLast();
  if (!is_last()) {
    if (own.values.back().is_same(buffer)) {
      at::Tensor kept;
      if (own.unused.empty()) {
        kept = at::empty_like(buffer);
      } else {
        kept = own.unused.back();
        own.unused.pop_back();
      }
      kept.copy_(buffer);
      own.values.back() = kept;
    }
    buffer.zero_();
    if (is_end) end_backward();
    return finished(buffer);
  }
  const Carried carried = carried_of(bucket);
  const int count = options_.num_virtual;
  const auto finish = [buffer, carried](int divisor) {
    if (divisor > 1) buffer.div_(divisor);
    for (const auto& [gradient, before] : carried) at::Tensor(gradient).add_(before);
  };
  FuturePtr out;
  const int num_ranks = options_.group->getSize();
  const bool is_plain = buffer.scalar_type() == at::kFloat || buffer.scalar_type() == at::kDouble;
  if (num_ranks > 1 && can_reduce_ && (is_plain || num_ranks == 2)) {
    // Shared memory divides what it adds up.
    const bool divides = options_.adds_in_tree && is_plain && num_ranks == count;
    out = sum_of_all(buffer, divides);
    if (!divides || !carried.empty()) {
      out = out->then(
          [buffer, finish, divisor = divides ? 1 : count](c10::ivalue::Future& future) {
            future.value();  // throws what has failed
            finish(divisor);
            return c10::IValue(buffer);
          },
          c10::TensorType::get());
    }
  } else {
    if (num_ranks > 1) exchange(own, buffer);
    finish(count);
    out = finished(buffer);
  }
  own.values.back() = at::Tensor();  // its memory is the reducer's
  own.clear();
  if (is_end) end_backward();
  return out;
}

VirtualSums::FuturePtr VirtualSums::sum_of_all(const at::Tensor& buffer, bool divides) {
  std::vector<at::Tensor> travelling{buffer};
  c10d::AllreduceOptions options;
  options.asyncOp = true;
  options.reduceOp = divides ? c10d::ReduceOp::AVG : c10d::ReduceOp::SUM;
  return options_.group->allreduce(travelling, options)->getFuture();
}

// Each process adds up its part of the bucket along the tree, and gets the parts of the others.
void VirtualSums::exchange(const Bucket& bucket, const at::Tensor& buffer) {
  const int num_ranks = options_.group->getSize();
  const int64_t numel = buffer.numel();
  const int64_t part = (numel + num_ranks - 1) / num_ranks;
  const auto num_own = static_cast<int64_t>(bucket.values.size());
  at::Tensor sent = at::zeros({num_ranks, num_own, part}, buffer.options());
  for (int64_t rank = 0; rank < num_ranks; ++rank) {
    const int64_t begin = std::min(rank * part, numel);
    const int64_t size = std::min(part, numel - begin);
    for (int64_t i = 0; i < num_own && size > 0; ++i) {
      sent.select(0, rank)
          .select(0, i)
          .narrow(0, 0, size)
          .copy_(bucket.values[static_cast<size_t>(i)].narrow(0, begin, size));
    }
  }
  std::vector<int64_t> sent_sizes(static_cast<size_t>(num_ranks), num_own * part), sizes;
  int64_t num_all = 0;
  for (const auto& pieces : pieces_) {
    sizes.push_back(static_cast<int64_t>(pieces.size()) * part);
    num_all += static_cast<int64_t>(pieces.size());
  }
  at::Tensor received = at::empty({num_all * part}, buffer.options());
  at::Tensor flat = sent.reshape({-1});
  start_all_to_all_single(*options_.group, received, flat, sizes, sent_sizes, {})->wait();
  const at::Tensor values = received.view({num_all, part});
  for (const auto& [to, from] : additions_) {
    values.select(0, static_cast<int64_t>(to)).add_(values.select(0, static_cast<int64_t>(from)));
  }
  at::Tensor mine = values.select(0, 0).contiguous();
  at::Tensor all = at::empty({num_ranks * part}, buffer.options());
  start_all_gather_single(*options_.group, all, mine, {})->wait();
  buffer.copy_(all.narrow(0, 0, numel));
}

void VirtualSums::end_backward() {
  ++num_done_;
  if (is_last()) zeroed_.clear();
}

std::unique_ptr<c10d::CommHookInterface> virtual_hook(const std::shared_ptr<VirtualSums>& sums) {
  return std::make_unique<VirtualHook>(sums);
}

}  // namespace rtrain::engine
