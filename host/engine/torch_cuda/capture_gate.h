// host/engine/torch_cuda/capture_gate.h: keeps the capture of a CUDA graph and the switching of the
// device's tracing apart: tracing takes memory of the device as it begins, which a capture that
// is under way may not survive.
//
// One for the process; any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace rtrain {

class CaptureGate {
 public:
  // The gate of this process.
  static CaptureGate& of_process();

  // Brackets a capture. The first waits for a switch that is under way: milliseconds to seconds.
  void begin_capture();
  void end_capture();

  // Brackets a switch. False where a capture has not ended in that time, or is the calling thread's
  // own: then the switch is not begun.
  bool try_begin_switch(std::chrono::milliseconds patience);
  void end_switch();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int captures_ = 0;
  std::thread::id capturing_;  // the thread of the last one
  bool is_switching_ = false;
};

}  // namespace rtrain
