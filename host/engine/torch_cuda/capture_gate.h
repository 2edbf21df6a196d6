// host/engine/torch_cuda/capture_gate.h: prevents the capture of a CUDA graph and the switching of
// device tracing from overlapping: tracing allocates device memory when it begins, which can break
// a capture.
//
// One per process; any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace rtrain::engine {

class CaptureGate {
 public:
  // The gate of this process.
  static CaptureGate& of_process();

  // Call these around a capture. begin_capture waits for a switch in progress: milliseconds to
  // seconds.
  void begin_capture();
  void end_capture();

  // Call these around a switch. Returns false, and begins no switch, if a capture does not end
  // within `patience` or is the calling thread's own.
  bool try_begin_switch(std::chrono::milliseconds patience);
  void end_switch();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int captures_ = 0;
  std::thread::id capturing_;  // the thread of the last capture
  bool is_switching_ = false;
};

}  // namespace rtrain::engine
