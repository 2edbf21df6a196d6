// host/cli/processes/job.h: this process's part in a job over several hosts.
#pragma once

#include <optional>
#include <string>

#include "host/lua/state.h"
#include "host/node/job_spec.h"

namespace rtrain {

// What the launcher that started this process allotted: modules/rtrain/launch/ tells. Nothing where
// one host is all there is. `launcher`: --launcher, or empty.
std::optional<JobSpec> find_job(State& state, const std::string& launcher);

// Serves the job's controller until it is over, and returns the job's exit code. Not for a rank.
int run_agent(const JobSpec& job);

// From here on this process has its part in the job, and runs the script. Of task 0: the agents of
// the other hosts can come; when it ends, so do they, with its exit code. Of a rank that is the
// first of its host: the host's agent serves the others of the host too, until this process ends.
void begin_job(const JobSpec& job);

}  // namespace rtrain
