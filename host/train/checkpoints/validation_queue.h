// host/train/checkpoints/validation_queue.h: the order of validations: first come, first served, a
// limited number at a time. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "host/train/record/checkpoint_manager.h"

namespace rtrain::train {

class ValidationQueue {
 public:
  explicit ValidationQueue(int max_concurrent) : max_concurrent_(max_concurrent) {}

  void add(store::CheckpointRow checkpoint);
  // The checkpoint to validate now; nullopt if the limit is reached or none waits.
  std::optional<store::CheckpointRow> next();
  // All checkpoints whose validation has not ended; they count as started.
  std::vector<store::CheckpointRow> begin_all();
  // A validation has ended, and its result is stored.
  void end(const store::CheckpointRow& checkpoint);
  // Forgets all checkpoints.
  void clear();

  size_t size() const { return waiting_.size() + running_.size(); }
  bool is_empty() const { return size() == 0; }
  // The lowest report number of a checkpoint whose validation has not ended.
  std::optional<int64_t> first_index() const;

 private:
  int max_concurrent_;
  std::deque<store::CheckpointRow> waiting_;
  std::vector<store::CheckpointRow> running_;
};

}  // namespace rtrain::train
