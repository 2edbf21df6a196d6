// host/store/runs/run_opening.h: how a controller comes to own a run: it begins one, or takes one
// over.
//
// Both happen under the run's lock and in one transaction. Taking over keeps the run's id, its
// reports, attempts and checkpoints, raises owner_epoch so that an earlier controller that still
// lives is fenced, and marks its unfinished attempt LOST. What the new controller brings (config,
// workers, script) replaces what was recorded.
#pragma once

#include <optional>
#include <string>

#include "host/store/claim/run_claim.h"
#include "host/store/runs/new_run.h"

namespace rtrain {

struct OpenedRun {
  RunClaim claim;
  bool resumed = false;      // it was there already
  int64_t last_attempt = 0;  // 0: there was none
  Value failures = Map{};    // runs.failures: what is spent of each retry budget
  std::string notice{};      // whose run this was, for people; empty for a new run
};

// Errors: kConfig for a name that is unusable, taken (resume = never) or unknown (must);
// kEnvironment when the storage cannot be written, or another controller has the run.
OpenedRun open_run(const NewRun& run);

}  // namespace rtrain
