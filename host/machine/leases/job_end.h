// host/machine/leases/job_end.h: how a job has ended on this node, for processes of it that come
// late: a file in the runtime folder.
#pragma once

#include <optional>
#include <string>

namespace rtrain::machine {

// `job`: a name that only the processes of this start of the job share. Where the file cannot be
// written, late processes wait until their time is over.
void write_job_end(const std::string& job, int code) noexcept;

// The code, if the job has ended since this process began: a former start of a job may have had the
// same name.
std::optional<int> find_job_end(const std::string& job);

}  // namespace rtrain::machine
