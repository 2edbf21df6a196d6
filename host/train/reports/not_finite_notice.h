// host/train/reports/not_finite_notice.h: reports once per run that a loss, gradient or metric is
// not finite, in one line for all ranks.
//
// Belongs to the control thread. Gradients carry a NaN from one rank to all others, which detect it
// a step later. So this waits a moment after the first message and names the ranks with the fewest
// steps.
//
// If a parameter that should be the same on all ranks is not finite on some of them, and all other
// ranks have their first such value in a later step, only the replicas of these ranks have changed.
#pragma once

#include <map>

#include "host/loop/messages/to_controller.h"
#include "host/loop/timer.h"
#include "host/train/record/run_events.h"

namespace rtrain::train {

class NotFiniteNotice {
 public:
  NotFiniteNotice(loop::Loop& loop, RunEvents& events, int num_ranks);

  void add(int rank, message::NotFinite found);
  // The attempt has ended: reports without waiting longer.
  void tell();

 private:
  RunEvents& events_;
  size_t num_ranks_;
  std::map<int, message::NotFinite> found_;  // by rank, not reported yet
  loop::Timer patience_;
};

}  // namespace rtrain::train
