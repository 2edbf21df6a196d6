// host/api/profiler_api.h: the functions of the engine's profiler, for `rtrain profile`.
// Thread: any. The functions throw rtrain::Error.
#pragma once

#include <cstdint>
#include <string>

#include "host/api/profile_options.h"
#include "host/profile/memory_report.h"

namespace rtrain::api {

struct ProfilerApi {
  // Begins to record all threads of this process. Throws kArgument, which names the other profile,
  // where one is being recorded.
  void (*start)(const ProfileOptions& options) = nullptr;
  // Adds a value in JSON to the trace that is being recorded.
  void (*add_metadata)(const std::string& key, const std::string& json) = nullptr;
  // Ends the recording and writes it to the file as a Chrome trace; returns the number of events.
  int64_t (*stop)(const std::string& path) = nullptr;
  // Begin and end a range with this name on the calling thread, which the trace shows. Ranges may
  // be nested. Without a recording they cost almost nothing.
  void (*enter_range)(const char* name) = nullptr;
  void (*leave_range)() = nullptr;

  // Begins to record which lines allocate the memory of tensors. Throws kArgument where such a
  // recording has begun before.
  void (*start_memory)() = nullptr;
  // Adds a point to the curves.
  void (*sample_memory)(double seconds) = nullptr;
  // Requests that the main thread ends the recording at its next operator, and adds the names of
  // the script's tensors. Returns true once it has.
  bool (*is_memory_closed)() = nullptr;
  // Ends the recording; without names where the main thread has not ended it.
  profile::MemoryReport (*stop_memory)() = nullptr;
};

}  // namespace rtrain::api
