// host/engine/distributed/group_work.h: a collective or message that has been begun: PyTorch's
// Work.
//
// Used by the thread of the Lua state that owns the group.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "host/base/wait_kind.h"

namespace rtrain {

class Group;

class GroupWork {
 public:
  // Begins it, and unless is_async ends it too, with the group's errors. `finish` copies the
  // results to where they are wanted. The tensors are the results, which are complete behind
  // wait().
  static std::shared_ptr<GroupWork> begin(
      const std::shared_ptr<Group>& group, const char* operation, bool is_async,
      std::vector<at::Tensor> results, const std::function<c10::intrusive_ptr<c10d::Work>()>& start,
      std::function<void()> finish = nullptr, WaitKind kind = WaitKind::kCollective);

  // Until it has ended; for what a device does: until the device's queue has it behind it. Throws
  // as Group::call does, and again what it has thrown before.
  void wait();
  bool is_completed();
  // Completed without an error.
  bool is_success();
  const Group& group() const { return *group_; }
  // Of the group: of whom a message is. Behind wait().
  int source_rank() const;
  const std::vector<at::Tensor>& results() const { return results_; }

 private:
  void complete();

  std::shared_ptr<Group> group_;
  const char* operation_ = "";
  WaitKind kind_ = WaitKind::kCollective;
  std::vector<at::Tensor> results_;
  c10::intrusive_ptr<c10d::Work> work_;
  std::function<void()> finish_;
  bool has_ended_ = false;
};

}  // namespace rtrain
