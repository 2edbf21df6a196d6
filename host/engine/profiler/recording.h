// host/engine/profiler/recording.h: the recording of this process: Kineto, LibTorch's profiler,
// makes one at a time.
//
// One of a single thread is prepared, started and stopped on that thread; one of all threads on
// any. Between prepare and start Kineto warms up its tracing of the device.
#pragma once

#include <memory>
#include <string>

#include "host/api/profile_options.h"

namespace torch::autograd::profiler {
struct ProfilerResult;
}

namespace rtrain {

// What was recorded, which few files need to know from within.
using ProfilerResult = torch::autograd::profiler::ProfilerResult;
struct DeleteProfilerResult {
  void operator()(ProfilerResult* result) const;
};
using OwnedProfilerResult = std::unique_ptr<ProfilerResult, DeleteProfilerResult>;

// `owner`: whose it is, for the one who comes second. Throws kArgument where there is one already.
void prepare_recording(const ProfileOptions& options, const std::string& owner);
void start_recording();
// The recording, which has been started; another one may be prepared.
OwnedProfilerResult stop_recording();
// Adds a value in JSON to the trace of the one that is started.
void add_recording_metadata(const std::string& key, const std::string& json);
// One that was only prepared is over.
void drop_recording();

}  // namespace rtrain
