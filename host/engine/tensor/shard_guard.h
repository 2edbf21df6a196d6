// host/engine/tensor/shard_guard.h: tensors that are this rank's rows of a larger one refuse
// operators that would compute something else with the rows than with the whole tensor.
//
// A sharded parameter has a dispatch key of its own, by which every operator that gets it passes
// here first. Operators without a gradient are allowed if they work elementwise: in place, or with
// a result of the shard's shape, which becomes a shard too. A sum, a norm, or a product of matrices
// would be wrong without an error.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace rtrain::engine {

struct ShardMark {
  std::string name;  // for messages, with the rows that the tensor has of all
  int64_t begin = 0;
  int64_t num_rows = 0;
  int64_t number = 0;  // the caller's, above 0
};

void mark_shard(const at::Tensor& tensor, ShardMark mark);
// The number in the tensor's mark; 0 for other tensors and for views of shards.
int64_t shard_number(const at::Tensor& tensor);

// Marks a tensor as the same rows as `shard`, which is marked or an ordinary tensor.
void mark_as(const at::Tensor& tensor, const at::Tensor& shard);

// The same rows in the same memory, as an ordinary tensor.
at::Tensor unmarked(const at::Tensor& tensor);
// Throws Error(kUser) for a shard, unless the thread is in a scope: `what` would write it as if it
// were the whole tensor.
void check_whole(const at::Tensor& tensor, const std::string& what);

// While it exists, this thread's operators may do anything with shards.
class ShardScope {
 public:
  ShardScope();
  ~ShardScope();
  ShardScope(const ShardScope&) = delete;
  ShardScope& operator=(const ShardScope&) = delete;
};

// The same for calls that a script makes between enter and leave.
void enter_shard_scope();
void leave_shard_scope();

}  // namespace rtrain::engine
