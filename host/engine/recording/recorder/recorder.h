// host/engine/recording/recorder/recorder.h: writes a Record while a step runs.
//
// A Recorder belongs to the thread that made it, and records the operators of that thread and those
// that autograd's threads for devices call for it. It takes a dispatch key below autograd that
// LibTorch leaves free, so that it sees what forward, backward and optimizers call, without what
// these calls consist of. The step itself runs as always.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/base/text/text.h"
#include "host/engine/recording/record.h"
#include "host/engine/recording/recorder/leaf_grads.h"
#include "host/engine/recording/recorder/memory_numbers.h"
#include "host/engine/runtime/recording_listener.h"

namespace rtrain::engine {

class Recorder final : public RecordingListener {
 public:
  // The line of the script that runs, "train.lua:12"; empty if it is not known.
  using Line = std::function<std::string()>;

  // `leaves`: those that a former recording of the step found. `keeps_results`: each call keeps
  // copies of its results.
  Recorder(std::vector<at::Tensor> arguments, std::vector<at::Tensor> leaves, bool keeps_results,
           Line line = nullptr);
  ~Recorder() override;

  // Ends the recording: the thread's operators are no longer seen.
  void stop();
  // The record, after stop(). `outputs` are the tensors among the step's results. It is complete
  // only if refusal() is empty then.
  Record take(const std::vector<at::Tensor>& outputs);
  // The first reason why there is no record, with the line of the script; empty if there is one.
  const std::string& refusal() const { return refusal_; }

  void add_constant(const at::Tensor& tensor) override;
  void add_loss(const at::Tensor& loss) override;
  void add_begun(int count) override { begun_ += count; }
  void refuse(std::string_view reason) override;
  // The next call with an argument `lr` takes the learning rate of this group.
  void add_rate(int group);

  // Calls fn(). The recording, but not the step, ends with its exceptions. Autograd's threads for
  // devices call it too.
  template <class Fn>
  void observe(Fn fn) {
    const std::lock_guard lock(observed_);
    try {
      fn();
    } catch (const std::exception& e) {
      refuse(cat("the recording failed: ", e.what()));
    }
  }
  // Called around each operator, by the dispatcher's fallback.
  RecordedCall before(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  void after(RecordedCall call, const torch::jit::Stack& stack);

  static Recorder* current() { return static_cast<Recorder*>(RecordingListener::current()); }

 private:
  struct Memory {
    c10::weak_intrusive_ptr<c10::StorageImpl> held;  // keeps the address from being used again
    std::vector<int> values;
    bool is_unwritten = false;  // allocated, and no operator has written to it
  };

  void read_argument(RecordedCall& call, int at, const c10::IValue& value);
  void read_list(RecordedCall& call, int at, const c10::IValue& value);
  void add_result(RecordedCall& call, ValuePlace place, const at::Tensor& tensor);
  void note_writes(RecordedCall& call);
  void check_unwritten_reads(const RecordedCall& call);
  bool views_its_arguments(const RecordedCall& call) const;
  void add_zeros(const RecordedCall& call);
  void keep_results(RecordedCall& call, c10::ArrayRef<c10::IValue> results);

  std::string line() const { return line_ ? line_() : std::string(); }
  bool is_plain(const at::Tensor& tensor);
  bool is_on_its_device(const at::Tensor& tensor);
  // The number of a tensor that a call gets. Adds a state where it is not known.
  int number_of(const at::Tensor& tensor);
  int add_value(const at::Tensor& tensor, Origin origin, int source);
  int add_number(const at::Tensor& tensor);
  int view_of(const at::Tensor& tensor, int storage);
  int storage_of(const at::Tensor& tensor);
  void forget_dead_states();
  void watch_version(const at::Tensor& tensor, int value);
  void read_versions();
  void read_grads();

  std::mutex observed_;
  Record record_;
  std::string refusal_;
  Line line_;
  LeafGrads grads_;
  struct Version {
    at::Tensor tensor;
    int value;
    int64_t before;
  };
  std::vector<Version> versions_;  // of arguments and states
  std::unordered_map<const c10::TensorImpl*, int> values_;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> held_;
  MemoryNumbers numbers_;
  std::vector<Memory> memory_;  // by number
  int rate_ = -1;
  int begun_ = 0;                     // collectives that were not waited for
  std::optional<at::Device> device_;  // besides the CPU
  bool keeps_results_ = false;
  bool is_active_ = false;
};

}  // namespace rtrain::engine
