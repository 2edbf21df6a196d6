// tests/fake_nvidia/gpu/stream.h: the streams of the simulated device: threads that do their work
// in order. A captured stream only records its work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fake_gpu {

using Work = std::function<void()>;

// The recorded work of a capture: its nodes, in order.
struct Graph {
  std::vector<Work> nodes;
};

struct Capture {
  uint64_t id = 0;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread = std::this_thread::get_id();
  bool is_invalid = false;
  bool has_ended = false;
};

class Stream {
 public:
  explicit Stream(int device) : device_(device) {}

  // Does the work after all earlier work, or records it if the stream is captured.
  void give(Work work);
  bool is_idle() const;
  void wait_until_idle();

  int device() const { return device_; }
  // Null if the stream is not captured.
  std::shared_ptr<Capture> capture() const;
  void join(std::shared_ptr<Capture> capture);

 private:
  void run();

  const int device_;
  std::deque<Work> work_;
  bool is_busy_ = false;
  bool has_thread_ = false;
  std::shared_ptr<Capture> capture_;
};

// A point in a stream's work. Its time is taken when the stream reaches it.
struct Event {
  uint64_t recorded = 0;  // how often the event was recorded; `reached` counts those reached
  uint64_t reached = 0;
  double time_ms = 0;
  std::shared_ptr<Capture> capture;  // the capture in which the event was recorded
};

// Returns the stream of a handle; 0 and the two special handles mean the current device's default
// stream.
Stream& stream_of(cudaStream_t handle);
std::shared_ptr<Event>& event_of(cudaEvent_t handle);
void wait_for_device(int device);

// For calls that the driver forbids during a capture, since they would order work of the device:
// fails with cudaErrorStreamCaptureUnsupported and invalidates the capture.
cudaError_t forbid_in_capture();

int current_device();

// Records the error for cudaGetLastError and returns it.
cudaError_t fail(cudaError_t error);
// Returns the error in which the device stays after a kernel failed, or cudaSuccess.
cudaError_t sticky_error();
void set_sticky_error(cudaError_t error);

}  // namespace fake_gpu
