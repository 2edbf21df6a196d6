// host/engine/runtime/recording_listener.h: what a recording of operators gets to know from
// elsewhere, because no operator does it.
//
// host/engine/recording/recorder/recorder.h implements it. Each thread has at most one. Autograd's
// threads for devices, which work for a thread that waits for them, have its listener.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <string_view>
#include <utility>

namespace rtrain::engine {

class RecordingListener {
 public:
  // The dispatch key of what is recorded, which LibTorch leaves free: directly below autograd and
  // above the choice of a backend. LibTorch copies it to autograd's threads.
  static constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;

  // The listener of this thread; null while nothing is recorded.
  static RecordingListener* current() {
    if (listener != nullptr || is_paused) return listener;
    RecordingListener* other = of_devices.load(std::memory_order_acquire);
    return other != nullptr && is_recorded() ? other : nullptr;
  }

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
    Pause()
        : before_(std::exchange(listener, nullptr)), was_paused_(std::exchange(is_paused, true)) {}
    ~Pause() {
      listener = before_;
      is_paused = was_paused_;
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    RecordingListener* before_;
    bool was_paused_;
  };

  RecordingListener() = default;
  RecordingListener(const RecordingListener&) = delete;
  RecordingListener& operator=(const RecordingListener&) = delete;

 protected:
  virtual ~RecordingListener() = default;

  static bool is_recorded() {
    return c10::impl::tls_is_dispatch_key_included(kKey) &&
           !c10::impl::tls_is_dispatch_key_excluded(kKey);
  }

  static inline thread_local RecordingListener* listener = nullptr;
  static inline thread_local bool is_paused = false;
  // The listener that may record tensors of a device: one in the process.
  static inline std::atomic<RecordingListener*> of_devices = nullptr;
};

// Tells this thread's recording, if there is one, that the script does what a plan cannot repeat.
inline void refuse_in_recording(std::string_view reason) {
  if (RecordingListener::current() != nullptr) RecordingListener::current()->refuse(reason);
}

}  // namespace rtrain::engine
