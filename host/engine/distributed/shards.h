// host/engine/distributed/shards.h: tensors that are divided among the ranks of a group along
// dimension 0, as FSDP divides parameters.
//
// With n ranks, rank r has the rows r·c to (r + 1)·c, where c = ⌈rows / n⌉, as torch.chunk: the
// last ranks may have fewer rows, or none. A whole tensor has all rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/engine/distributed/collectives.h"

namespace rtrain::engine {

struct ShardRows {
  int64_t begin = 0;
  int64_t count = 0;
};

ShardRows shard_rows(int64_t rows, int rank, int num_ranks);

struct SharedTensors {
  std::vector<at::Tensor> wholes;
  std::vector<at::Tensor> shards;  // this rank's rows of the wholes, with a storage of their own
};

struct SharedShape {
  std::vector<int64_t> sizes;
  at::ScalarType dtype = at::kFloat;
};

// Makes tensors of zeros in memory that all ranks of the group share: what a rank writes to its
// shards is in the wholes of all ranks. The caller keeps writes and reads apart with collectives.
// The memory is freed when no rank has one of the tensors any more. A collective. REQUIRES: the
// group uses shared memory.
SharedTensors shared_tensors(const GroupPtr& group, const std::vector<SharedShape>& shapes);

// Copies the shards of all ranks to the wholes, one for each shard.
GroupWorkPtr all_gather_shards(const GroupPtr& group, const std::vector<at::Tensor>& wholes,
                               const std::vector<at::Tensor>& shards, bool is_async = false);
// Reduces the wholes of all ranks elementwise; each rank gets its rows. The wholes are not changed.
GroupWorkPtr reduce_scatter_shards(const GroupPtr& group, const std::vector<at::Tensor>& shards,
                                   const std::vector<at::Tensor>& wholes, std::string_view op,
                                   bool is_async = false);

}  // namespace rtrain::engine
