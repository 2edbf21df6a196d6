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

// How exactly the end of the last step is met.
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

struct Wanted {
  double seconds;
  uint64_t steps;
  double timeout_s;
};

// Until the time has passed, or so many more reports were made. The number of reports.
uint64_t wait_for_end(Progress& progress, const Wanted& wanted) {
  const double begin_s = monotonic_s();
  const auto count = [&] { return progress.page().reports.load(std::memory_order_relaxed); };
  const uint64_t before = count();
  const double most_s = wanted.steps > 0 ? wanted.timeout_s : wanted.seconds;
  while (monotonic_s() - begin_s < most_s) {
    if (wanted.steps > 0 && count() - before >= wanted.steps) break;
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

Map record(const ProfilerApi& profiler, Progress& progress, const Value& request,
           const WorkerContext& context) {
  const Wanted wanted{request["seconds"].as_float(),
                      static_cast<uint64_t>(request["steps"].as_int()),
                      request["timeout_s"].as_float()};
  Unfinished file(request["path"].as_string());
  ProfileOptions options;
  options.cuda = options.with_stack = options.all_threads = true;
  options.record_shapes = request["record_shapes"].bool_or(false);
  profiler.start(options);
  profiler.add_metadata("distributedInfo", distributed_info(context));
  const double begin_s = monotonic_s();
  const uint64_t reports = wait_for_end(progress, wanted);
  const double seconds = monotonic_s() - begin_s;
  const int64_t events = profiler.stop(file.path());
  file.keep();
  Map out{{"path", request["path"]},
          {"events", events},
          {"seconds", seconds},
          {"reports", static_cast<int64_t>(reports)}};
  if (reports < wanted.steps) {
    out.set("note", cat("it has made ", reports, " of ", wanted.steps, " reports in ",
                        wanted.timeout_s, " s (--timeout)"));
  }
  return out;
}

}  // namespace

Map record_profile(Progress& progress, const Value& request, const WorkerContext& context) {
  const ProfilerApi* profiler = engine_profiler();
  if (profiler == nullptr) {
    return Map{{"error", "it has not made a tensor yet: LibTorch, which records, is not loaded"}};
  }
  try {
    return record(*profiler, progress, request, context);
  } catch (const Error& e) {
    return Map{{"error", e.message()}};
  } catch (const std::exception& e) {
    return Map{{"error", e.what()}};
  }
}

}  // namespace rtrain
