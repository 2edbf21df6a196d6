// host/decide/failure_policy.h: decides whether a failed attempt is worth another one, and when.
// Pure.
//
// Each kind of failure has a budget of its own; they count failed attempts of the whole run,
// however many ranks failed in each, and never go down, unless an attempt has run for as long as
// FailureLimits::reset_after_s. The first retry after progress (a new
// checkpoint) is immediate, later ones wait 1 s, 2 s, 4 s, … up to 60 s, each shortened by up to a
// quarter at random. An error of the user's code, or out of memory, that comes again at the same
// place with no new checkpoint in between is not retried, and never are errors of configuration or
// environment, unless they may pass (a full disk).
#pragma once

#include <cstdint>
#include <string>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/decide/group_state.h"

namespace rtrain::decide {

// Attempts after the first that each kind of failure may bring about; -1: any number.
struct FailureLimits {
  int max_failures = 0;
  int controller_failure_limit = 3;
  int max_preemption_failures = -1;
  // All counts start from zero with a failure of an attempt that had run that long; 0: never.
  double reset_after_s = 0;
};

// How many attempts have failed by now.
struct FailureCounts {
  int worker_group = 0;
  int controller = 0;
  int preemption = 0;

  // As runs.failures keeps them.
  Value to_value() const;
  static FailureCounts from_value(const Value& value);
};

struct Failure {
  Error error;
  bool new_checkpoint = false;  // one was committed in this attempt
  FailureKind kind = FailureKind::kWorkerGroup;
  bool transient = false;  // of the machine, and may pass: retried whatever the error's code
  double ran_s = 0;        // from when all ranks ran to the attempt's end
};

struct FailureDecision {
  bool retry = false;
  double delay_s = 0;
  std::string reason;  // why not, or which retry this is: "retry 1 of 3",
                       // "retry 7, controller_failure_limit = -1 sets no limit"
};

class FailurePolicy {
 public:
  // The seed makes the random part of the delays; `spent` is what earlier controllers of the run
  // have counted.
  FailurePolicy(const FailureLimits& limits, uint64_t seed, const FailureCounts& spent = {});

  FailureDecision decide(const Failure& failure);
  const FailureCounts& counts() const { return counts_; }

 private:
  struct Budget {
    int limit;
    int& count;
    const char* setting;
  };
  void forgive();
  Budget budget(FailureKind kind);
  std::string used_up(const Budget& budget) const;
  bool is_repeated(const Failure& failure) const;
  double next_delay();

  FailureLimits limits_;
  uint64_t random_;
  FailureCounts counts_;
  int failures_since_progress_ = 0;
  std::string last_user_error_;
};

}  // namespace rtrain::decide
