// host/store/runs/diagnosis.h: a run's diagnoses of suspected hangs: the folders in its `diag/`,
// written by host/train/watch/watchdog.h.
#pragma once

#include <cstddef>
#include <string>

#include "host/base/value.h"

namespace rtrain::store {

// The number of diagnoses.
size_t count_diagnoses(const std::string& run_path);

// The newest `most` diagnoses, newest first: {name, time, attempt, verdict, ranks}. Each rank has
// rank, pid, state, phase, lua (its stack, innermost first) and collectives (its last ones:
// sequence, operation, tensors, line). Parts that do not exist yet or cannot be read are left out.
List read_diagnoses(const std::string& run_path, size_t most);

}  // namespace rtrain::store
