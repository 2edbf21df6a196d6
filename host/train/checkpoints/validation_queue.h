// host/train/checkpoints/validation_queue.h: which checkpoint is validated next: first come, first
// served, a limited number at a time. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "host/train/record/checkpoint_manager.h"

namespace rtrain {

class ValidationQueue {
 public:
  explicit ValidationQueue(int max_concurrent) : max_concurrent_(max_concurrent) {}

  void add(CheckpointInfo checkpoint);
  // The one to begin now; nothing while enough run or none waits.
  std::optional<CheckpointInfo> next();
  // All that have not ended, taken as begun.
  std::vector<CheckpointInfo> begin_all();
  // One that next() gave has ended, and its result is in the store.
  void end(const CheckpointInfo& checkpoint);
  // Forgets all of them.
  void clear();

  size_t size() const { return waiting_.size() + running_.size(); }
  bool is_empty() const { return size() == 0; }
  // The lowest number of a report whose checkpoint's validation has not ended.
  std::optional<int64_t> first_index() const;

 private:
  int max_concurrent_;
  std::deque<CheckpointInfo> waiting_;
  std::vector<CheckpointInfo> running_;
};

}  // namespace rtrain
