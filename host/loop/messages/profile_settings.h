// host/loop/messages/profile_settings.h: what `rtrain profile` records of a rank.
#pragma once

#include <cstdint>

#include "host/base/codec/record.h"

namespace rtrain::loop {

struct ProfileSettings {
  double seconds = 0;
  int64_t steps = 0;     // number of reports to record instead of seconds; 0: seconds
  double timeout_s = 0;  // the limit for those reports
  bool record_shapes = false;
  double rate = 0;  // stack samples per second instead of a trace of operators; 0: the trace
  bool is_idle_wanted = false;  // also sample threads that wait
  bool is_memory = false;       // record which code owns the memory of tensors instead

  // The longest time that a recording may take.
  double longest_s() const { return steps > 0 ? timeout_s : seconds; }

  static constexpr RecordFields kFields{
      required("seconds", &ProfileSettings::seconds),
      required("steps", &ProfileSettings::steps),
      required("timeout_s", &ProfileSettings::timeout_s),
      optional("record_shapes", &ProfileSettings::record_shapes),
      optional("rate", &ProfileSettings::rate),
      optional("idle", &ProfileSettings::is_idle_wanted),
      optional("memory", &ProfileSettings::is_memory),
  };
};

}  // namespace rtrain::loop
