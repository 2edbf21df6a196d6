// The profiler's interface for the executable (host/api/profiler_api.h), a symbol of
// librtrain_engine.so.
#include "host/api/profiler_api.h"

#include "host/engine/memory/memory_recording.h"
#include "host/engine/profiler/profile.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/ranges.h"

namespace rtrain::engine {
namespace {

// Converts LibTorch's errors, which must not leave the engine.
template <class Call>
auto translated(Call call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw TorchTranslate::from(e);
  }
}

void start(const api::ProfileOptions& options) {
  translated([&] {
    prepare_recording(options, "`rtrain profile`");
    start_recording();
  });
}

void add_metadata(const std::string& key, const std::string& json) {
  translated([&] { add_recording_metadata(key, json); });
}

int64_t stop(const std::string& path) {
  return translated([&] {
    Profile profile(stop_recording());
    profile.save(path);
    return profile.num_events();
  });
}

void start_memory() { translated(&start_memory_recording); }

}  // namespace
}  // namespace rtrain::engine

extern "C" __attribute__((visibility("default"))) const rtrain::api::ProfilerApi*
rtrain_engine_profiler() {
  using namespace rtrain;
  using namespace rtrain::engine;
  static const api::ProfilerApi kApi{.start = &start,
                                     .add_metadata = &add_metadata,
                                     .stop = &stop,
                                     .enter_range = &push_range,
                                     .leave_range = &pop_range,
                                     .start_memory = &start_memory,
                                     .sample_memory = &sample_memory_recording,
                                     .is_memory_closed = &is_memory_recording_closed,
                                     .stop_memory = &stop_memory_recording};
  return &kApi;
}
