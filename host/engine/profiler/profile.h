// host/engine/profiler/profile.h: a finished recording: its events, and its file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/engine/profiler/function_events.h"
#include "host/engine/profiler/recording.h"

namespace rtrain {

class Profile {
 public:
  explicit Profile(OwnedProfilerResult result);

  // Writes a Chrome trace. LibTorch gives it away as it writes: once. Throws kArgument the second
  // time, and where the file cannot be written.
  void save(const std::string& path);
  // Linked; worked out at the first call.
  const std::vector<FunctionEvent>& events();
  // When the recording began, on the clock of the events.
  int64_t begin_ns() const;
  // All that were recorded, those of memory too.
  int64_t num_events() const;

 private:
  OwnedProfilerResult result_;
  bool is_saved_ = false;
  bool is_linked_ = false;
  std::vector<FunctionEvent> events_;
};

}  // namespace rtrain
