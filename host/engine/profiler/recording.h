// host/engine/profiler/recording.h: the recording of this process. Kineto, LibTorch's profiler,
// supports one at a time.
//
// A recording of a single thread is prepared, started and stopped on that thread; a recording of
// all threads, on any thread. Between prepare and start Kineto warms up its device tracing.
#pragma once

#include <memory>
#include <string>

#include "host/api/profile_options.h"

namespace torch::autograd::profiler {
struct ProfilerResult;
}

namespace rtrain::engine {

// The recorded data; declared here so that few files include LibTorch's header.
using ProfilerResult = torch::autograd::profiler::ProfilerResult;
struct DeleteProfilerResult {
  void operator()(ProfilerResult* result) const;
};
using OwnedProfilerResult = std::unique_ptr<ProfilerResult, DeleteProfilerResult>;

// `owner` names the user of the recording, for the error of a second one. Throws kArgument if there
// already is a recording.
void prepare_recording(const api::ProfileOptions& options, const std::string& owner);
void start_recording();
// Stops the started recording and returns it. Another one can be prepared then.
OwnedProfilerResult stop_recording();
// Adds a JSON value to the trace of the started recording.
void add_recording_metadata(const std::string& key, const std::string& json);
// Ends a recording that was prepared but not started.
void drop_recording();

}  // namespace rtrain::engine
