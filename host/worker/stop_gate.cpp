#include "host/worker/stop_gate.h"

#include "host/worker/report/controller_lost.h"

namespace rtrain::worker {

std::optional<bool> StopGate::call(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool free = changed_.wait_for(lock, timeout, [this] { return !held_ || closed_; });
  if (closed_) throw controller_lost();
  if (!free) return std::nullopt;
  ++calls_;
  return at_ && calls_ >= *at_;
}

int64_t StopGate::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
  return calls_;
}

void StopGate::release(std::optional<int64_t> at) {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
    at_ = at;
  }
  changed_.notify_all();
}

bool StopGate::is_agreed() {
  const std::lock_guard lock(mutex_);
  return at_.has_value();
}

bool StopGate::is_closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void StopGate::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace rtrain::worker
