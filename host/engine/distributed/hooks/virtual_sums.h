// host/engine/distributed/hooks/virtual_sums.h: the gradients of virtual ranks, added so that the
// mean has the same bits whichever process computes which of them.
//
// Of n virtual ranks process p of W computes those of LeafRange::of(n, p, W), or as many as its
// share says, one after the other. Its communication hook adds each bucket along the tree of
// host/base/sum_tree.h. While virtual ranks of the process are left, the gradients begin again at
// zero; after its last one the processes exchange what they have, the pieces of their ranges: each
// adds up a part of the bucket along the tree and all gather the parts. Gradients that the script
// has not zeroed before the step (it accumulates over several steps) are put aside, and added to
// the mean.
//
// Over shared memory a sum of all ranks is made along the same tree, so that pieces of one size
// each need no exchange of their own.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/base/sum_tree.h"

namespace rtrain::engine {

struct VirtualSumsOptions {
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  int num_virtual = 1;        // REQUIRES: at least the size of the group
  std::vector<int> shares;    // of the processes, with this sum; empty: as equal as possible
  bool adds_in_tree = false;  // whether an all-reduce of float32 and float64 follows the tree
};

class VirtualSums {
 public:
  using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;

  explicit VirtualSums(VirtualSumsOptions options);

  LeafRange range() const { return range_; }

  // A forward pass of a virtual rank of this process begins. Throws Error(kUser) if its backward
  // was, or if a virtual rank before it had none.
  void begin(int virtual_rank, const std::vector<at::Tensor>& params);
  // Its batch has ended. Throws Error(kUser) if it had a forward and no backward. `is_left`: the
  // loop was left in it.
  void end(bool is_left);
  // The script has zeroed these parameters' gradients.
  void note_zeroed(const std::vector<at::Tensor>& params);
  // A bucket of gradients is ready.
  FuturePtr add(c10d::GradBucket& bucket);

 private:
  // What the process has added of one bucket.
  struct Bucket {
    void clear();

    SumTree tree;
    std::vector<at::Tensor> values;  // one for each node of the tree
    std::vector<at::Tensor> unused;  // memory for others
  };
  using Carried = std::vector<std::pair<at::Tensor, at::Tensor>>;

  LeafRange range_of(int rank) const;
  bool is_last() const { return current_ + 1 == range_.end; }
  Bucket& bucket_of(size_t index);
  void put_aside(const std::vector<at::Tensor>& params);
  void append(Bucket& bucket, const at::Tensor& buffer);
  Carried carried_of(c10d::GradBucket& bucket) const;
  FuturePtr sum_of_all(const at::Tensor& buffer, bool divides);
  void exchange(const Bucket& bucket, const at::Tensor& buffer);
  void end_backward();

  VirtualSumsOptions options_;
  LeafRange range_;
  std::vector<std::vector<SumNode>> pieces_;          // of each process
  std::vector<std::pair<size_t, size_t>> additions_;  // of the pieces of all
  bool can_reduce_ = false;                           // each process has one piece, of one size
  int current_ = -1;                                  // virtual rank; -1: none
  int num_done_ = 0;                                  // virtual ranks whose backward has ended
  bool has_added_ = false;                            // a bucket of this step
  std::vector<Bucket> buckets_;
  std::unordered_map<c10::TensorImpl*, at::Tensor> carried_;
  std::unordered_set<c10::TensorImpl*> zeroed_;  // since the last exchange
};

std::unique_ptr<c10d::CommHookInterface> virtual_hook(const std::shared_ptr<VirtualSums>& sums);

}  // namespace rtrain::engine
