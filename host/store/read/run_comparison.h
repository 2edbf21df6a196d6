// host/store/read/run_comparison.h: compares two runs of a store.
#pragma once

#include "host/base/value.h"
#include "host/store/read/open_store.h"

namespace rtrain::store {

// {a, b: {name, run_id}; config, scaling, environment: {key: {a, b}} for dotted keys that differ;
// code: {git_commit, git_dirty: {a, b} if they differ, files: [{kind, path, diff}]}; metrics: {key:
// {a, b, delta}} for all}. A value that a run does not have is nil. Command and job are not
// compared.
Value compare_runs(OpenStore& store, const RunRef& first, const RunRef& second);

}  // namespace rtrain::store
