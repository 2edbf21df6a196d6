// host/train/failure_policy.h: decides whether a failed attempt is worth another one, and when.
// Pure.
//
// max_failures counts failed attempts of the whole run, however many ranks failed in each. The
// first retry after progress (a new checkpoint) is immediate, later ones wait 1 s, 2 s, 4 s, … up
// to 60 s, each shortened by up to a quarter at random. An error of the user's code that comes
// again with the same text and no new checkpoint in between is not retried, and never are errors of
// configuration or environment.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/error.h"

namespace rtrain {

struct Failure {
  Error error;
  bool new_checkpoint = false;  // one was committed in this attempt
};

struct FailureDecision {
  bool retry = false;
  double delay_s = 0;
  std::string reason;  // why not, or which retry this is: "retry 1 of 3"
};

class FailurePolicy {
 public:
  // max_failures -1: without limit. The seed makes the random part of the delays.
  FailurePolicy(int max_failures, uint64_t seed);

  FailureDecision decide(const Failure& failure);

 private:
  bool is_repeated(const Failure& failure) const;
  double next_delay();

  int max_failures_;
  uint64_t random_;
  int failures_ = 0;
  int failures_since_progress_ = 0;
  std::string last_user_error_;
};

}  // namespace rtrain
