#include "host/train/checkpoints/validation_queue.h"

#include <algorithm>

namespace rtrain::train {

void ValidationQueue::add(store::CheckpointRow checkpoint) {
  waiting_.push_back(std::move(checkpoint));
}

std::optional<store::CheckpointRow> ValidationQueue::next() {
  if (waiting_.empty() || running_.size() >= static_cast<size_t>(max_concurrent_)) return {};
  running_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  return running_.back();
}

std::vector<store::CheckpointRow> ValidationQueue::begin_all() {
  running_.insert(running_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  return running_;
}

void ValidationQueue::end(const store::CheckpointRow& checkpoint) {
  std::erase_if(running_, [&](const store::CheckpointRow& each) {
    return each.name == checkpoint.name && each.attempt == checkpoint.attempt;
  });
}

void ValidationQueue::clear() {
  waiting_.clear();
  running_.clear();
}

std::optional<int64_t> ValidationQueue::first_index() const {
  std::optional<int64_t> out;
  const auto look = [&out](const auto& list) {
    for (const store::CheckpointRow& each : list)
      out = std::min(out.value_or(each.index), each.index);
  };
  look(waiting_);
  look(running_);
  return out;
}

}  // namespace rtrain::train
