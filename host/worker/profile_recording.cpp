#include "host/worker/profile_recording.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/base/store_access.h"
#include "host/base/text.h"
#include "host/lua/engine_loader.h"
#include "host/store/file.h"

namespace rtrain {
namespace {

// How exactly the end of the last step is found.
constexpr std::chrono::milliseconds kLook{2};

// Removed unless the trace is complete.
class Unfinished {
 public:
  explicit Unfinished(const std::string& path) : target_(path), path_(path + ".partial") {
    make_folders(std::filesystem::path(path).parent_path());
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

// Until the time has passed, or that many more reports were made. The number of reports.
int64_t wait_for_end(Progress& progress, const message::AskProfile& asked) {
  const double begin_s = monotonic_s();
  const auto count = [&] {
    return static_cast<int64_t>(progress.page().reports.load(std::memory_order_relaxed));
  };
  const int64_t before = count();
  const double most_s = asked.steps > 0 ? asked.timeout_s : asked.seconds;
  while (monotonic_s() - begin_s < most_s) {
    if (asked.steps > 0 && count() - before >= asked.steps) break;
    std::this_thread::sleep_for(kLook);
  }
  return count() - before;
}

// As PyTorch's traces say it: tools that lay the traces of several ranks together look for it.
std::string distributed_info(const WorkerContext& context) {
  return to_json(Value(Map{{"backend", context.backend},
                           {"rank", context.world_rank},
                           {"world_size", context.world_size}}));
}

message::Profile record(const ProfilerApi& profiler, Progress& progress,
                        const message::AskProfile& asked, const WorkerContext& context) {
  Unfinished file(asked.path);
  ProfileOptions options;
  options.cuda = options.with_stack = options.all_threads = true;
  options.record_shapes = asked.record_shapes;
  profiler.start(options);
  profiler.add_metadata("distributedInfo", distributed_info(context));
  const double begin_s = monotonic_s();
  message::Profile out{.path = asked.path};
  out.reports = wait_for_end(progress, asked);
  out.seconds = monotonic_s() - begin_s;
  out.events = profiler.stop(file.path());
  file.keep();
  if (out.reports < asked.steps) {
    out.note = cat("it has made ", out.reports, " of ", asked.steps, " reports in ",
                   asked.timeout_s, " s (--timeout)");
  }
  return out;
}

}  // namespace

message::Profile record_profile(Progress& progress, const message::AskProfile& asked,
                                const WorkerContext& context) {
  const ProfilerApi* profiler = engine_profiler();
  if (profiler == nullptr) {
    return {.error = "it has not made a tensor yet: LibTorch, which records, is not loaded"};
  }
  try {
    return record(*profiler, progress, asked, context);
  } catch (const Error& e) {
    return {.error = e.message()};
  } catch (const std::exception& e) {
    return {.error = e.what()};
  }
}

}  // namespace rtrain
