// host/machine/leases/job_end.h: how a job has ended on this node, for processes of the job that
// start late: a file in the runtime folder.
#pragma once

#include <optional>
#include <string>

namespace rtrain::machine {

// `job` is a name that only the processes of this start of the job share. If the file cannot be
// written, late processes wait until their time-out.
void write_job_end(const std::string& job, int code) noexcept;

// Returns the exit code if the job has ended since this process began: an earlier start of a job
// may have had the same name.
std::optional<int> find_job_end(const std::string& job);

}  // namespace rtrain::machine
