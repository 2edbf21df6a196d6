// host/api/profiler_api.h: the engine's profiler as the executable sees it, for `rtrain profile`.
// Any thread; the functions throw rtrain::Error.
#pragma once

#include <cstdint>
#include <string>

#include "host/api/profile_options.h"
#include "host/profile/memory_report.h"

namespace rtrain::api {

struct ProfilerApi {
  // Begins to record all threads of this process. Throws kArgument where a profile is under way,
  // which names whose.
  void (*start)(const ProfileOptions& options) = nullptr;
  // Adds a value in JSON to the trace that is being recorded.
  void (*add_metadata)(const std::string& key, const std::string& json) = nullptr;
  // Ends the recording and writes it to that file as a Chrome trace; gives the number of events.
  int64_t (*stop)(const std::string& path) = nullptr;
  // Brackets on the calling thread what is to be seen as a range of that name; nested as calls are.
  // Costs next to nothing while nobody records.
  void (*enter_range)(const char* name) = nullptr;
  void (*leave_range)() = nullptr;

  // The memory of tensors: begins to record what takes it. Throws kArgument where that is under
  // way.
  void (*start_memory)() = nullptr;
  // Adds a point to the curves.
  void (*sample_memory)(double seconds) = nullptr;
  // Asks the main thread to end the recording at the next operator that it calls, with the names of
  // the script's tensors; true once it has.
  bool (*is_memory_closed)() = nullptr;
  // Ends it, without names where the main thread has not.
  profile::MemoryReport (*stop_memory)() = nullptr;
};

}  // namespace rtrain::api
