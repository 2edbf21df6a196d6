// tests/fake_nvidia/gpu/stream.h: the streams of the fake device: threads that do in order what
// they are given, and captures, in which a stream only notes it.
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

// What a capture has noted: its nodes, in order.
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

  // Does the work after all that came before it, or notes it where the stream is captured.
  void give(Work work);
  bool is_idle() const;
  void wait_until_idle();

  int device() const { return device_; }
  // Null where it is not captured.
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

// A point in a stream's work. Times are taken when the stream gets there.
struct Event {
  uint64_t recorded = 0;  // how often it was recorded, and how many of those were reached
  uint64_t reached = 0;
  double time_ms = 0;
  std::shared_ptr<Capture> capture;  // it was recorded in
};

// The stream behind a handle; 0 and its two special values are the current device's default one.
Stream& stream_of(cudaStream_t handle);
std::shared_ptr<Event>& event_of(cudaEvent_t handle);
void wait_for_device(int device);

// What the driver forbids while a capture is under way, since it would order work of the device:
// fails with cudaErrorStreamCaptureUnsupported and spoils the capture.
cudaError_t forbid_in_capture();

int current_device();

// Notes the error for cudaGetLastError and gives it back.
cudaError_t fail(cudaError_t error);
// The error that the device stays in since a kernel failed; cudaSuccess without one.
cudaError_t sticky_error();
void set_sticky_error(cudaError_t error);

}  // namespace fake_gpu
