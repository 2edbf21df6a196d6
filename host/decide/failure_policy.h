// host/decide/failure_policy.h: decides whether a failed attempt is worth another one, and when.
// Pure.
//
// Each kind of failure has its own budget of retries. A failed attempt counts once, however many
// ranks failed in it. The counts of a run never go down, unless an attempt fails that has run for
// FailureLimits::reset_after_s. The first retry after a new checkpoint is immediate. Later retries
// wait 1 s, 2 s, 4 s, … up to 60 s, each shortened at random by up to a quarter. Errors of
// configuration and environment are not retried, unless they may pass (a full disk). An error of
// the user's code, or out of memory, is not retried either when it comes twice from the same place
// without a new checkpoint in between.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/decide/group_state.h"

namespace rtrain::decide {

// How many retries each kind of failure may have; -1: any number.
struct FailureLimits {
  int max_failures = 0;
  int controller_failure_limit = 3;
  int max_preemption_failures = -1;
  // All counts start from zero when an attempt fails that has run for this time; 0: never.
  double reset_after_s = 0;
};

// How many attempts have failed, by kind of failure.
struct FailureCounts {
  int worker_group = 0;
  int controller = 0;
  int preemption = 0;

  // The value in the column runs.failures of the run store. A count that is not in it is 0.
  Value to_value() const;
  static FailureCounts from_value(const Value& value);
};

struct Failure {
  Error error;
  bool new_checkpoint = false;  // one was committed in this attempt
  FailureKind kind = FailureKind::kWorkerGroup;
  bool transient = false;  // a fault of the machine that may pass: any error code is retried
  double ran_s = 0;        // from when all ranks ran until the attempt ended
};

struct FailureDecision {
  bool retry = false;
  double delay_s = 0;
  std::string reason;  // why there is no retry, or which one this is: "retry 1 of 3",
                       // "retry 7 of any number (controller_failure_limit = -1)"
};

class FailurePolicy {
 public:
  // `seed` is for the random part of the delays. `spent` holds the counts of earlier controllers of
  // the run.
  FailurePolicy(const FailureLimits& limits, uint64_t seed, const FailureCounts& spent = {});

  // Counts the failure. Returns whether there is another attempt, and after which delay.
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
