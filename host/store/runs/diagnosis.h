// host/store/runs/diagnosis.h: what a run has saved of the moments at which it seemed to hang: the
// folders in its `diag/`, which host/train/watch/watchdog.h writes.
#pragma once

#include <cstddef>
#include <string>

#include "host/base/value.h"

namespace rtrain {

// How many there are.
size_t count_diagnoses(const std::string& run_path);

// The newest, at most that many: {name, time, attempt, verdict, ranks}, the newest first. Of each
// rank: rank, pid, state, phase, lua (its stack, the innermost first) and collectives (its last
// ones: sequence, operation, tensors, line). What is not there yet, or cannot be read, is left out.
List read_diagnoses(const std::string& run_path, size_t most);

}  // namespace rtrain
