// host/engine/distributed/group_work.h: a collective or message that was started: PyTorch's
// Work.
//
// Belongs to the thread of the Lua state that owns the group.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "host/base/wait_kind.h"

namespace rtrain::engine {

class Group;

class GroupWork {
 public:
  // Starts the operation and, unless is_async, waits for it, with the group's errors. `finish`
  // copies results to their destination. `results` are complete after wait().
  static std::shared_ptr<GroupWork> begin(
      const std::shared_ptr<Group>& group, const char* operation, bool is_async,
      std::vector<at::Tensor> results, const std::function<c10::intrusive_ptr<c10d::Work>()>& start,
      std::function<void()> finish = nullptr, WaitKind kind = WaitKind::kCollective);
  // An operation that has completed.
  static std::shared_ptr<GroupWork> ended(const std::shared_ptr<Group>& group,
                                          std::vector<at::Tensor> results);

  // An operation that an effect of a recording has begun, and begins in each run of its plan: the
  // wait is an effect too. `work` is that of the last run.
  static std::shared_ptr<GroupWork> recorded(const std::shared_ptr<Group>& group,
                                             const char* operation, std::vector<at::Tensor> results,
                                             std::shared_ptr<std::shared_ptr<GroupWork>> work);

  // Waits until the operation has completed; for an operation on a device, until the device's
  // current stream is ordered after it. Throws as Group::call does; a later call throws the same
  // error again.
  void wait();
  bool is_completed();
  // Whether it has completed without an error.
  bool is_success();
  const Group& group() const { return *group_; }
  // The group rank of a message's sender. Call it after wait().
  int source_rank() const;
  const std::vector<at::Tensor>& results() const { return results_; }

 private:
  void complete();
  void wait_in_plan();

  std::shared_ptr<Group> group_;
  const char* operation_ = "";
  WaitKind kind_ = WaitKind::kCollective;
  std::vector<at::Tensor> results_;
  c10::intrusive_ptr<c10d::Work> work_;
  std::shared_ptr<std::shared_ptr<GroupWork>> of_plan_;
  std::function<void()> finish_;
  bool has_ended_ = false;
};

}  // namespace rtrain::engine
