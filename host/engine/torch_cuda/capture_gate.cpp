#include "host/engine/torch_cuda/capture_gate.h"

namespace rtrain::engine {
namespace {

// A tracing library that hangs must not prevent training.
constexpr std::chrono::seconds kLongestSwitch{30};

}  // namespace

CaptureGate& CaptureGate::of_process() {
  static CaptureGate gate;
  return gate;
}

void CaptureGate::begin_capture() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLongestSwitch, [this] { return !is_switching_; });
  ++captures_;
  capturing_ = std::this_thread::get_id();
}

void CaptureGate::end_capture() {
  const std::lock_guard lock(mutex_);
  if (captures_ > 0) --captures_;
  changed_.notify_all();
}

bool CaptureGate::try_begin_switch(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (captures_ > 0 && capturing_ == std::this_thread::get_id()) return false;
  if (!changed_.wait_for(lock, patience, [this] { return captures_ == 0 && !is_switching_; })) {
    return false;
  }
  is_switching_ = true;
  return true;
}

void CaptureGate::end_switch() {
  const std::lock_guard lock(mutex_);
  is_switching_ = false;
  changed_.notify_all();
}

}  // namespace rtrain::engine
