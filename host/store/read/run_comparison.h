// host/store/read/run_comparison.h: how two runs of a store differ.
#pragma once

#include "host/base/value.h"
#include "host/store/read/run_reader.h"

namespace rtrain {

// {a, b: {name, run_id}; config, scaling, environment: {key: {a, b}} of the dotted keys that
// differ; code: {git_commit, git_dirty: {a, b} where they differ, files: [{kind, path, diff}]};
// metrics: {key: {a, b, delta}} of all}. What one run does not have is nil. The command and the job
// are each run's own and are not compared.
Value compare_runs(RunReader& reader, const RunRef& first, const RunRef& second);

}  // namespace rtrain
