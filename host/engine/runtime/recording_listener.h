// host/engine/runtime/recording_listener.h: what a recording of operators gets to know from
// elsewhere, because no operator does it.
//
// host/engine/recording/recorder.h implements it. Each thread has at most one.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <utility>

namespace rtrain::engine {

class RecordingListener {
 public:
  // The listener of this thread; null while nothing is recorded.
  static RecordingListener* current() { return listener; }

  // The host has filled the tensor, which no operator had written: torch.tensor.
  virtual void add_constant(const at::Tensor& tensor) = 0;
  // Backward begins at this tensor.
  virtual void add_loss(const at::Tensor& loss) = 0;
  // Collectives have begun, to which a wait belongs in the recording: 1. Or one was waited for: -1.
  virtual void add_begun(int count) = 0;
  // What happens cannot be in a recording. The first reason counts.
  virtual void refuse(std::string_view reason) = 0;

  // While it exists, this thread's recording does not get to know what happens.
  class Pause {
   public:
    Pause() : before_(std::exchange(listener, nullptr)) {}
    ~Pause() { listener = before_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    RecordingListener* before_;
  };

  RecordingListener() = default;
  RecordingListener(const RecordingListener&) = delete;
  RecordingListener& operator=(const RecordingListener&) = delete;

 protected:
  virtual ~RecordingListener() = default;

  static inline thread_local RecordingListener* listener = nullptr;
};

// Tells this thread's recording, if there is one, that the script does what a plan cannot repeat.
inline void refuse_in_recording(std::string_view reason) {
  if (RecordingListener::current() != nullptr) RecordingListener::current()->refuse(reason);
}

}  // namespace rtrain::engine
