// host/cli/job.h: this process's part in a job over several hosts.
#pragma once

#include <optional>
#include <string>

#include "host/lua/state.h"
#include "host/node/job_spec.h"

namespace rtrain {

// What the engine that started this process allotted: modules/rtrain/launch/ tells. Nothing where
// one host is all there is. `launcher`: --launcher, or empty.
std::optional<JobSpec> find_job(State& state, const std::string& launcher);

// Serves the job's controller until it is over, and returns the job's exit code.
int run_agent(const JobSpec& job);

// From here on the agents of the other hosts can come. When this process ends, so do they, with its
// exit code.
void begin_job(const JobSpec& job);

}  // namespace rtrain
