// host/decide/slow/straggler.h: a rank that slows the others down, its cause, and what is said of
// it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "host/decide/slow/segments.h"

namespace rtrain::decide {

enum class SlowCause {
  kData,
  kCompute,
  kCheckpoint,
  kOther,      // the script's own code between steps
  kStopped,    // by a signal
  kThrottled,  // its cgroup has a limit
  kDevice,     // runs below its clock
  kCores,      // other programs run on them
  kStolen,     // the virtual machine's host uses the cores for others
  kMemory,     // is on a disk
  kLink,       // between its node and the others
};

// "data", "compute", …
std::string_view cause_name(SlowCause cause);

struct Straggler {
  int rank = 0;
  SlowCause cause = SlowCause::kCompute;
  double lost_s = 0;        // the others wait for that long in each step
  double share = 0;         // of a step
  bool has_passed = false;  // the rank keeps up again
  std::string text = {};    // "computes 1.31 × as long as the others (…): …"
};

// The time that a step takes in a phase: one of the first four causes.
PartNumber time_of(SlowCause phase);

// Returns the text of a rank whose cause is any but a link. `phase`: where it spends the time that
// the others wait.
std::string describe(const Segments& segments, const Straggler& found, SlowCause phase);
// The same for a slow link. `own`, `others`: the shares of the time in which data wait for them.
std::string describe_link(const Straggler& found, double own, double others);

}  // namespace rtrain::decide
