#include "host/worker/profile_recording.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/files/store_access.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/profile/sampled_stacks.h"
#include "host/store/files/file.h"
#include "host/worker/profile/stack_sampler.h"

namespace rtrain::worker {
namespace {

// The precision with which the end of the last step is found.
constexpr std::chrono::milliseconds kLook{2};
// Of a recording of memory: the time between two samples, and the longest wait for tensors' names.
constexpr double kMemorySampleS = 0.01;
constexpr double kNamesS = 5;
constexpr size_t kMostMemoryLines = 100;

// A file that is being written. The destructor removes it unless the trace is complete.
class Unfinished {
 public:
  explicit Unfinished(const std::string& path) : target_(path), path_(path + ".partial") {
    store::make_folders(std::filesystem::path(path).parent_path());
  }
  ~Unfinished() { std::remove(path_.c_str()); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const std::string& path() const { return path_; }
  void keep() {
    set_store_access(path_);
    std::filesystem::rename(path_, target_);
  }

 private:
  std::string target_;
  std::string path_;
};

// The end of a recording: the time has passed, or the rank has made that many more reports.
class End {
 public:
  End(Progress& progress, const message::AskProfile& asked)
      : page_(progress.page()),
        steps_(asked.settings.steps),
        end_s_(monotonic_s() + asked.settings.longest_s()),
        before_(count()) {}

  bool has_come() const {
    return monotonic_s() >= end_s_ || (steps_ > 0 && num_reports() >= steps_);
  }
  int64_t num_reports() const { return count() - before_; }

 private:
  int64_t count() const {
    return static_cast<int64_t>(page_.reports.load(std::memory_order_relaxed));
  }

  const pages::ProgressPage& page_;
  int64_t steps_;
  double end_s_;
  int64_t before_;
};

std::string too_few_reports(const message::AskProfile& asked, int64_t reports) {
  if (reports >= asked.settings.steps) return "";
  return cat("it has made ", reports, " of ", asked.settings.steps, " reports in ",
             asked.settings.timeout_s, " s (--timeout)");
}

// As in PyTorch's traces: tools that combine the traces of several ranks read it.
std::string distributed_info(const loop::WorkerContext& context) {
  return to_json(Value(Map{{"backend", context.backend},
                           {"rank", context.world_rank},
                           {"world_size", context.world_size}}));
}

message::Profile record_trace(const api::ProfilerApi& profiler, Progress& progress,
                              const message::AskProfile& asked,
                              const loop::WorkerContext& context) {
  Unfinished file(asked.path);
  api::ProfileOptions options;
  options.cuda = options.with_stack = options.all_threads = true;
  options.record_shapes = asked.settings.record_shapes;
  profiler.start(options);
  profiler.add_metadata("distributedInfo", distributed_info(context));
  const double begin_s = monotonic_s();
  message::Profile out{.path = asked.path};
  const End end(progress, asked);
  while (!end.has_come()) std::this_thread::sleep_for(kLook);
  out.reports = end.num_reports();
  out.seconds = monotonic_s() - begin_s;
  out.events = profiler.stop(file.path());
  file.keep();
  out.note = too_few_reports(asked, out.reports);
  return out;
}

// The times of a sampler's ticks. Their distances vary at random, so that no loop of the script
// keeps time with them, and grow where the sampler would cost too much.
class SamplePace {
 public:
  explicit SamplePace(double rate)
      : least_s_(1 / rate), interval_s_(least_s_), begin_s_(monotonic_s()) {}

  // The time until the next tick.
  double next_s(const StackSampler& sampler) {
    if (++ticks_ % kTicksBetweenChecks == 0) check(sampler.cost());
    return interval_s_ * std::uniform_real_distribution<>(0.75, 1.25)(random_);
  }

 private:
  // The most that sampling may cost, as a share of the process's processor time. Looking up names
  // at the end is not included. A process that only waits counts as if it used kLeastProcessors.
  static constexpr double kMostCost = 0.005;
  static constexpr double kLeastProcessors = 0.1;
  static constexpr int kTicksBetweenChecks = 8;
  static constexpr double kMostSlower = 30;

  // Sets the interval so that the ticks cost kMostCost, and make up for what was used too much by
  // the next check.
  void check(const SamplingCost& cost) {
    const double passed_s = monotonic_s() - begin_s_;
    const double may_take = kMostCost * std::max(cost.process_s / passed_s, kLeastProcessors);
    const double too_much_s = std::max(0.0, cost.own_s - may_take * passed_s);
    const double tick_s = cost.own_s / ticks_ + too_much_s / kTicksBetweenChecks;
    interval_s_ = std::clamp(tick_s / may_take, least_s_, kMostSlower * least_s_);
  }

  double least_s_;
  double interval_s_;
  double begin_s_;
  int ticks_ = 0;
  std::minstd_rand random_;
};

message::Profile record_stacks(Progress& progress, const message::AskProfile& asked,
                               const loop::WorkerContext& context) {
  Unfinished file(asked.path);
  message::Profile out{.path = asked.path};
  const double begin_s = monotonic_s();
  StackSampler sampler(asked.settings.is_idle_wanted);
  SamplePace pace(asked.settings.rate);
  const End end(progress, asked);
  while (!end.has_come()) {
    const double interval_s = pace.next_s(sampler);
    sampler.tick(interval_s);
    std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
  }
  out.reports = end.num_reports();
  out.seconds = monotonic_s() - begin_s;
  out.events = sampler.num_samples();
  profile::SampledStacks stacks = sampler.finish();
  stacks.name = cat("rank ", context.world_rank);
  const std::string text = to_json(profile::to_speedscope(stacks));
  store::OpenFile(file.path(), O_WRONLY | O_CREAT | O_TRUNC).write(text);
  file.keep();
  const SamplingCost cost = sampler.cost();
  out.cost_s = cost.own_s;
  out.cpu_s = cost.process_s;
  out.note = too_few_reports(asked, out.reports);
  return out;
}

// Ends the recording in its destructor where an error has ended the work on it.
class MemoryRecording {
 public:
  explicit MemoryRecording(const api::ProfilerApi& profiler) : profiler_(profiler) {
    profiler_.start_memory();
  }
  ~MemoryRecording() {
    if (is_running_) profiler_.stop_memory();
  }
  MemoryRecording(const MemoryRecording&) = delete;
  MemoryRecording& operator=(const MemoryRecording&) = delete;

  profile::MemoryReport stop() {
    is_running_ = false;
    return profiler_.stop_memory();
  }

 private:
  const api::ProfilerApi& profiler_;
  bool is_running_ = true;
};

message::Profile record_memory(const api::ProfilerApi& profiler, Progress& progress,
                               const message::AskProfile& asked,
                               const loop::WorkerContext& context) {
  Unfinished file(asked.path);
  message::Profile out{.path = asked.path};
  const double begin_s = monotonic_s();
  const auto passed_s = [&] { return monotonic_s() - begin_s; };
  MemoryRecording recording(profiler);
  const End end(progress, asked);
  double next_s = 0;
  while (!end.has_come()) {
    std::this_thread::sleep_for(kLook);
    if (passed_s() < next_s) continue;
    profiler.sample_memory(passed_s());
    next_s = passed_s() + kMemorySampleS;
  }
  out.reports = end.num_reports();
  const double names_until_s = passed_s() + kNamesS;
  while (!profiler.is_memory_closed() && passed_s() < names_until_s) {
    std::this_thread::sleep_for(kLook);
  }
  const profile::MemoryReport report = recording.stop();
  out.seconds = passed_s();
  for (const profile::DeviceReport& device : report.devices) out.events += device.num_taken;
  Map document{{"rank", context.world_rank},
               {"time_ms", now_ms()},
               {"seconds", out.seconds},
               {"reports", out.reports}};
  const Value fields = profile::to_value(report, kMostMemoryLines);
  for (const auto& [key, value] : fields.as_map()) document.set(key, value);
  store::OpenFile(file.path(), O_WRONLY | O_CREAT | O_TRUNC)
      .write(to_json(Value(std::move(document))));
  file.keep();
  out.note = too_few_reports(asked, out.reports);
  if (!report.has_names) {
    out.note += cat(out.note.empty() ? "" : "; ", "its main thread has called no operator within ",
                    kNamesS, " s after the recording: tensors have no names");
  }
  return out;
}

}  // namespace

message::Profile record_profile(Progress& progress, const message::AskProfile& asked,
                                const loop::WorkerContext& context) {
  const api::ProfilerApi* profiler = lua::engine_profiler();
  if (profiler == nullptr && asked.settings.rate == 0) {
    return {.error = "it has not made a tensor yet: LibTorch, which records, is not loaded"};
  }
  try {
    if (asked.settings.rate > 0) return record_stacks(progress, asked, context);
    return asked.settings.is_memory ? record_memory(*profiler, progress, asked, context)
                                    : record_trace(*profiler, progress, asked, context);
  } catch (const Error& e) {
    return {.error = e.message()};
  } catch (const std::exception& e) {
    return {.error = e.what()};
  }
}

}  // namespace rtrain::worker
