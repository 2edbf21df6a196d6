#include "host/engine/distributed/shards.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/distributed/shm/collective_names.h"
#include "host/engine/distributed/shm/region.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/runtime/lua_tensor.h"

namespace rtrain::engine {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr int64_t kLine = 64;  // tensors begin at cache lines

int64_t bytes_of(const SharedShape& shape) {
  int64_t out = static_cast<int64_t>(c10::elementSize(shape.dtype));
  for (const int64_t size : shape.sizes) out *= size;
  return out;
}

// A mapped region, and this rank's part of its bytes in the count of memory.
struct CountedRegion {
  CountedRegion(ShmRegion mapped, int64_t counted) : region(std::move(mapped)), bytes(counted) {
    note_foreign_bytes(bytes);
  }
  ~CountedRegion() { note_foreign_bytes(-bytes); }
  CountedRegion(const CountedRegion&) = delete;
  CountedRegion& operator=(const CountedRegion&) = delete;

  ShmRegion region;
  int64_t bytes;
};

// Rank 0 of the group creates the region. All have it when the call returns.
std::shared_ptr<CountedRegion> join_region(const GroupPtr& group, int64_t bytes, int64_t counted) {
  const auto size = static_cast<size_t>(bytes);
  const int first = group->global_rank(0);
  const bool is_first = group->rank() == 0;
  std::optional<ShmRegion> created;
  if (is_first) created.emplace(ShmRegion::create(size));
  const auto mine = is_first ? created->address() : ShmRegion::Address{};
  const at::Tensor words = at::tensor({mine.file.pid, mine.file.fd, mine.token}, at::kLong);
  broadcast(group, words, first);
  const auto* told = words.const_data_ptr<int64_t>();
  const ShmRegion::Address address{.file = MemoryFile::Address{.pid = told[0], .fd = told[1]},
                                   .token = told[2]};
  ShmRegion region = is_first ? std::move(*created) : ShmRegion::open(address, size);
  barrier(group);
  region.close_file();
  return std::make_shared<CountedRegion>(std::move(region), counted);
}

void check_lists(const char* operation, const GroupPtr& group, const Tensors& wholes,
                 const Tensors& shards) {
  if (wholes.empty() || wholes.size() != shards.size()) {
    throw Error(Code::kArgument, cat(operation, ": ", wholes.size(), " whole tensors and ",
                                     shards.size(), " shards: give as many of each"));
  }
  for (size_t i = 0; i < wholes.size(); ++i) {
    group->check_device(operation, wholes[i]);
    if (wholes[i].dim() == 0 || shards[i].dim() != wholes[i].dim() ||
        shards[i].size(0) !=
            shard_rows(wholes[i].size(0), group->rank(), group->world_size()).count ||
        shards[i].sizes().slice(1) != wholes[i].sizes().slice(1)) {
      throw Error(Code::kArgument, cat(operation, ": tensor ", i + 1, ": ", describe(shards[i]),
                                       " does not hold this rank's rows of ", describe(wholes[i])));
    }
    if (!wholes[i].is_contiguous() || !shards[i].is_contiguous() ||
        wholes[i].scalar_type() != shards[i].scalar_type() ||
        wholes[i].scalar_type() != wholes[0].scalar_type()) {
      throw Error(Code::kArgument, cat(operation, ": tensor ", i + 1,
                                       ": all tensors are contiguous and of one dtype"));
    }
  }
}

// The rows of each rank, by rank.
Tensors parts_of(const at::Tensor& whole, int num_ranks) {
  Tensors out;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const auto [begin, count] = shard_rows(whole.size(0), rank, num_ranks);
    out.push_back(whole.narrow(0, begin, count));
  }
  return out;
}

// For backends whose ranks send equally many elements: a tensor with a row for each rank, in which
// the rank's rows of all tensors follow one another. Rows that a rank lacks stay zero.
class Packed {
 public:
  Packed(const Tensors& wholes, int num_ranks) : wholes_(wholes), num_ranks_(num_ranks) {
    for (const at::Tensor& whole : wholes) {
      const int64_t most = shard_rows(whole.size(0), 0, num_ranks).count;
      offsets_.push_back(size_);
      size_ += whole.size(0) == 0 ? 0 : most * (whole.numel() / whole.size(0));
    }
  }

  at::Tensor row() const { return at::zeros({size_}, wholes_[0].options()); }
  at::Tensor rows() const { return at::zeros({num_ranks_ * size_}, wholes_[0].options()); }
  // The part of a row with the shard of tensor i.
  at::Tensor part(const at::Tensor& row, size_t i, const at::Tensor& shard) const {
    return row.narrow(0, offsets_[i], shard.numel()).view(shard.sizes());
  }
  // Calls fn(a rank's part of `rows`, the rank's rows of a whole) for all ranks and tensors.
  void each(const at::Tensor& rows,
            const std::function<void(const at::Tensor&, const at::Tensor&)>& fn) const {
    for (size_t i = 0; i < wholes_.size(); ++i) {
      const Tensors parts = parts_of(wholes_[i], num_ranks_);
      for (int rank = 0; rank < num_ranks_; ++rank) {
        const at::Tensor& mine = parts[static_cast<size_t>(rank)];
        fn(part(rows.narrow(0, rank * size_, size_), i, mine), mine);
      }
    }
  }

 private:
  Tensors wholes_;
  int num_ranks_;
  std::vector<int64_t> offsets_;
  int64_t size_ = 0;
};

// The same data with version counters of their own, so that gathering parameters again does not
// count as a change of tensors that a graph has saved.
Tensors data_of(const Tensors& tensors) {
  Tensors out;
  for (const at::Tensor& each : tensors) out.push_back(each.variable_data());
  return out;
}

}  // namespace

ShardRows shard_rows(int64_t rows, int rank, int num_ranks) {
  const int64_t most = (rows + num_ranks - 1) / num_ranks;
  const int64_t begin = std::min(rows, rank * most);
  return {.begin = begin, .count = std::min(most, rows - begin)};
}

SharedTensors shared_tensors(const GroupPtr& group, const std::vector<SharedShape>& shapes) {
  if (!group->uses_shm()) {
    throw Error(Code::kArgument, "shared_tensors: the ranks of the group share no memory");
  }
  int64_t size = 0;
  int64_t counted = 0;
  std::vector<int64_t> offsets;
  for (const SharedShape& shape : shapes) {
    const int64_t bytes = bytes_of(shape);
    const auto rows = shard_rows(shape.sizes.at(0), group->rank(), group->world_size());
    offsets.push_back(size);
    counted += shape.sizes[0] == 0 ? 0 : bytes / shape.sizes[0] * rows.count;
    size += (bytes + kLine - 1) / kLine * kLine;
  }
  const auto owner = join_region(group, std::max<int64_t>(size, kLine), counted);
  SharedTensors out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const SharedShape& shape = shapes[i];
    const auto make = [&](std::byte* data, const std::vector<int64_t>& sizes) {
      return at::from_blob(
          data, sizes, [owner](void*) {}, at::TensorOptions().dtype(shape.dtype));
    };
    std::byte* const data = owner->region.data() + offsets[i];
    const auto rows = shard_rows(shape.sizes[0], group->rank(), group->world_size());
    const int64_t row_bytes = shape.sizes[0] == 0 ? 0 : bytes_of(shape) / shape.sizes[0];
    std::vector<int64_t> sizes = shape.sizes;
    out.wholes.push_back(make(data, sizes));
    sizes[0] = rows.count;
    out.shards.push_back(make(data + rows.begin * row_bytes, sizes));
  }
  return out;
}

GroupWorkPtr all_gather_shards(const GroupPtr& group, const Tensors& wholes, const Tensors& shards,
                               bool is_async) {
  check_lists("all_gather", group, wholes, shards);
  if (RecordingListener::current() != nullptr) {
    return recorded(group, "all_gather", "rows", is_async, wholes, shards,
                    [group](const auto& changed, const auto& read, bool async) {
                      return all_gather_shards(group, changed, read, async);
                    });
  }
  c10d::AllgatherOptions options;
  options.asyncOp = async_op(group, wholes[0], is_async);
  const c10::NoGradGuard no_grad;
  const Tensors to = data_of(wholes);
  Tensors from = data_of(shards);
  const int num_ranks = group->world_size();
  if (group->uses_shm() && to[0].is_cpu()) {
    std::vector<Tensors> lists;
    for (const at::Tensor& whole : to) lists.push_back(parts_of(whole, num_ranks));
    return GroupWork::begin(group, "all_gather", is_async, wholes, [&] {
      return group->process_group()->allgather(lists, from, options);
    });
  }
  const Packed packed(to, num_ranks);
  at::Tensor row = packed.row();
  for (size_t i = 0; i < from.size(); ++i) packed.part(row, i, from[i]).copy_(from[i]);
  at::Tensor rows = packed.rows();
  return GroupWork::begin(
      group, "all_gather", is_async, wholes,
      [&] { return start_all_gather_single(*group->process_group(), rows, row, options); },
      [packed, rows] {
        packed.each(rows, [](const at::Tensor& part, const at::Tensor& mine) { mine.copy_(part); });
      });
}

GroupWorkPtr reduce_scatter_shards(const GroupPtr& group, const Tensors& shards,
                                   const Tensors& wholes, std::string_view op, bool is_async) {
  check_lists("reduce_scatter", group, wholes, shards);
  if (RecordingListener::current() != nullptr) {
    return recorded(
        group, "reduce_scatter", cat("rows ", op), is_async, shards, wholes,
        [group, op = std::string(op)](const auto& changed, const auto& read, bool async) {
          return reduce_scatter_shards(group, changed, read, op, async);
        });
  }
  c10d::ReduceScatterOptions options;
  options.asyncOp = async_op(group, wholes[0], is_async);
  options.reduceOp = reduce_op(op);
  const c10::NoGradGuard no_grad;
  Tensors to = data_of(shards);
  const Tensors from = data_of(wholes);
  const int num_ranks = group->world_size();
  if (group->uses_shm() && to[0].is_cpu()) {
    std::vector<Tensors> lists;
    for (const at::Tensor& whole : from) lists.push_back(parts_of(whole, num_ranks));
    return GroupWork::begin(group, "reduce_scatter", is_async, shards, [&] {
      return group->process_group()->reduce_scatter(to, lists, options);
    });
  }
  const Packed packed(from, num_ranks);
  at::Tensor rows = packed.rows();
  packed.each(rows, [](const at::Tensor& part, const at::Tensor& mine) { part.copy_(mine); });
  at::Tensor row = packed.row();
  return GroupWork::begin(
      group, "reduce_scatter", is_async, shards,
      [&] { return start_reduce_scatter_single(*group->process_group(), row, rows, options); },
      [packed, row, to] {
        for (size_t i = 0; i < to.size(); ++i) to[i].copy_(packed.part(row, i, to[i]));
      });
}

}  // namespace rtrain::engine
