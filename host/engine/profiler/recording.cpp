#include "host/engine/profiler/recording.h"

#include <kineto/libkineto.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/profiler/kineto_shim.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/runtime/torch_version.h"
#include "host/engine/torch_cuda/capture_gate.h"

namespace rtrain::engine {
namespace {

namespace kineto = torch::autograd::profiler;
using kineto::ActivityType;
using kineto::ProfilerConfig;
using torch::profiler::impl::ProfilerStateBase;

// After this time, threads that were entering an operator have passed the callback.
constexpr std::chrono::milliseconds kEntering{5};
// A capture takes about as long as one training step or a few.
constexpr std::chrono::seconds kCapture{10};

struct Recording {
  api::ProfileOptions options;
  std::string owner;
  bool is_started = false;
};

std::mutex mutex;
std::optional<Recording> current;

ProfilerConfig config_of(const api::ProfileOptions& options) {
  torch::profiler::impl::ExperimentalConfig experimental;
  experimental.profile_all_threads = options.all_threads;
  return ProfilerConfig(kineto::ProfilerState::KINETO, options.record_shapes,
                        options.profile_memory, /*with_stack=*/false, options.with_flops,
                        /*with_modules=*/false, experimental);
}

std::set<ActivityType> activities_of(const api::ProfileOptions& options) {
  std::set<ActivityType> out;
  if (options.cpu) out.insert(ActivityType::CPU);
  if (options.cuda && cuda_api() != nullptr) out.insert(ActivityType::CUDA);
  return out;
}

// The first recording initializes Kineto. Kineto prints an error if LibTorch registered with it on
// another thread.
void introduce_to_kineto() {
  libkineto::LibkinetoApi& api = libkineto::api();
  if (!api.isProfilerRegistered() && api.client() != nullptr) api.registerClient(api.client());
}

// Operators of other threads write to the recording when they begin and when they end. Once the
// callback is removed, no further operator begins that; the pause outlasts operators that are just
// beginning it.
void let_threads_go() {
  const auto state = global_recording<ProfilerStateBase>();
  if (state == nullptr) return;
  state->removeCallback();
  std::this_thread::sleep_for(kEntering);
}

// Waits while a CUDA graph is being captured before it switches the device's tracing. When a
// recording ends, tracing is switched in any case.
class TracingSwitch {
 public:
  explicit TracingSwitch(const api::ProfileOptions& options)
      : is_needed_(options.cuda && cuda_api() != nullptr),
        is_begun_(is_needed_ && CaptureGate::of_process().try_begin_switch(kCapture)) {}
  ~TracingSwitch() {
    if (is_begun_) CaptureGate::of_process().end_switch();
  }
  TracingSwitch(const TracingSwitch&) = delete;
  TracingSwitch& operator=(const TracingSwitch&) = delete;

  void need() const {
    if (!is_needed_ || is_begun_) return;
    throw Error(Code::kArgument,
                "a CUDA graph is being captured: a profile begins before that or after it");
  }

 private:
  bool is_needed_;
  bool is_begun_;
};

}  // namespace

void prepare_recording(const api::ProfileOptions& options, const std::string& owner) {
  const std::lock_guard lock(mutex);
  if (current) {
    throw Error(Code::kArgument, cat("a profile of this process is under way already: ",
                                     current->owner, "; there can be one at a time"));
  }
  const TracingSwitch tracing(options);
  tracing.need();
  introduce_to_kineto();
  kineto::prepareProfiler(config_of(options), activities_of(options));
  current = Recording{options, owner};
}

void start_recording() {
  const std::lock_guard lock(mutex);
  RT_CHECK(current && !current->is_started);
  try {
    const TracingSwitch tracing(current->options);
    tracing.need();
    kineto::enableProfiler(config_of(current->options), activities_of(current->options));
  } catch (...) {
    current.reset();
    throw;
  }
  current->is_started = true;
  records_lines = current->options.with_stack;
  report_memory_to_profiler(current->options.profile_memory);
}

void DeleteProfilerResult::operator()(ProfilerResult* result) const { delete result; }

OwnedProfilerResult stop_recording() {
  const std::lock_guard lock(mutex);
  RT_CHECK(current && current->is_started);
  records_lines = false;
  report_memory_to_profiler(false);
  const bool all_threads = current->options.all_threads;
  const TracingSwitch tracing(current->options);
  current.reset();
  if (all_threads) let_threads_go();
  return OwnedProfilerResult(kineto::disableProfiler().release());
}

void add_recording_metadata(const std::string& key, const std::string& json) {
  kineto::addMetadataJson(key, json);
}

// Kineto can only leave its warm-up by recording.
void drop_recording() {
  start_recording();
  stop_recording();
}

}  // namespace rtrain::engine
