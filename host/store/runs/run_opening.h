// host/store/runs/run_opening.h: how a controller becomes the owner of a run: it begins one or
// takes one over.
//
// Both happen under the run's lock and in one transaction. Taking over keeps the run's id, reports,
// attempts and checkpoints, raises owner_epoch so that an earlier controller that is still alive is
// fenced, and marks its unfinished attempt LOST. The new controller's config, workers and script
// replace the recorded ones.
#pragma once

#include <optional>
#include <string>

#include "host/store/claim/run_claim.h"
#include "host/store/runs/new_run.h"

namespace rtrain::store {

struct OpenedRun {
  RunClaim claim;
  bool resumed = false;      // the run existed before
  int64_t last_attempt = 0;  // 0: none
  Value failures = Map{};    // runs.failures: used part of each retry budget
  std::string notice{};      // the previous owner, for users; empty for a new run
};

// Errors: kConfig for a name that is invalid, taken (resume = never) or unknown (must);
// kEnvironment if the storage cannot be written or another controller owns the run.
OpenedRun open_run(const NewRun& run);

}  // namespace rtrain::store
