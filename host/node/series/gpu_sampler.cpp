#include "host/node/series/gpu_sampler.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "host/base/clock.h"

namespace rtrain::node {
namespace {

// How often the thread checks whether it should stop.
constexpr std::chrono::milliseconds kSlice{50};
// A thread that stays in the library for longer is abandoned.
constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

// Shared with the thread; outlives the sampler while the thread runs.
struct GpuSampler::Shared : std::enable_shared_from_this<Shared> {
  Shared(loop::Loop& its_loop, Plan its_plan, GpuSamplerDelegate& its_delegate)
      : loop(&its_loop), plan(std::move(its_plan)), delegate(its_delegate) {}

  void run();
  void post(std::function<void()> task);
  bool wait(std::chrono::milliseconds time);
  void sample(const machine::Nvml& nvml);
  void tell_fault(const machine::GpuFault& fault);

  std::mutex mutex;
  std::condition_variable changed;
  bool is_stopped = false;  // the loop may be destroyed then
  bool has_ended = false;
  loop::Loop* loop;
  const Plan plan;
  GpuSamplerDelegate& delegate;              // only used on the loop's thread
  std::map<std::string, std::string> whole;  // full device for each UUID
};

// The task runs on the loop's thread, on which the sampler is destroyed too, and only if the
// sampler still exists.
void GpuSampler::Shared::post(std::function<void()> task) {
  const std::lock_guard lock(mutex);
  if (is_stopped) return;
  loop->post([self = shared_from_this(), task = std::move(task)] {
    if (!self->is_stopped) task();
  });
}

// Returns false after the stop.
bool GpuSampler::Shared::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, time, [this] { return is_stopped; });
}

void GpuSampler::Shared::sample(const machine::Nvml& nvml) {
  for (const std::string& uuid : plan.uuids) {
    post([this, sample = GpuSample{uuid, nvml.state(uuid), now_ms()}] {
      delegate.on_sample(sample);
    });
  }
}

void GpuSampler::Shared::tell_fault(const machine::GpuFault& fault) {
  std::vector<std::string> uuids;
  for (const auto& [uuid, device] : whole) {
    if (device == fault.uuid) uuids.push_back(uuid);
  }
  if (uuids.empty()) return;
  post([this, uuids, xid = fault.xid] { delegate.on_fault(uuids, xid); });
}

void GpuSampler::Shared::run() {
  machine::Nvml nvml;
  if (!nvml.refusal().empty()) return;
  for (const std::string& uuid : plan.uuids) whole[uuid] = nvml.whole_device(uuid);
  double next_s = 0;
  do {
    if (plan.interval_s > 0 && monotonic_s() >= next_s) {
      next_s = monotonic_s() + plan.interval_s;
      sample(nvml);
    }
    // If the driver supports such events, next_fault() itself waits for kSlice.
    if (const auto fault = nvml.next_fault(kSlice)) tell_fault(*fault);
  } while (wait(kSlice));
}

GpuSampler::GpuSampler(loop::Loop& loop, Plan plan, GpuSamplerDelegate& delegate)
    : shared_(std::make_shared<Shared>(loop, std::move(plan), delegate)) {
  std::thread([shared = shared_] {
    pthread_setname_np(pthread_self(), "rtrain-gpus");
    shared->run();
    const std::lock_guard lock(shared->mutex);
    shared->has_ended = true;
    shared->changed.notify_all();
  }).detach();
}

GpuSampler::~GpuSampler() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopped = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience, [this] { return shared_->has_ended; });
}

}  // namespace rtrain::node
