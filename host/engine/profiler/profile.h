// host/engine/profiler/profile.h: a finished recording: its events and its trace file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/engine/profiler/function_events.h"
#include "host/engine/profiler/recording.h"

namespace rtrain::engine {

class Profile {
 public:
  explicit Profile(OwnedProfilerResult result);

  // Writes a Chrome trace. Works only once, because LibTorch discards the trace when it writes it.
  // Throws kArgument the second time, and if the file cannot be written.
  void save(const std::string& path);
  // The linked events, computed at the first call.
  const std::vector<FunctionEvent>& events();
  // Start of the recording, on the events' clock.
  int64_t begin_ns() const;
  // Number of recorded events, including those of memory.
  int64_t num_events() const;

 private:
  OwnedProfilerResult result_;
  bool is_saved_ = false;
  bool is_linked_ = false;
  std::vector<FunctionEvent> events_;
};

}  // namespace rtrain::engine
