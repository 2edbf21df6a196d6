// host/cli/train/estimate.h: `rtrain check --memory`: the memory for training a script's model, by
// dtype; no run is recorded.
#pragma once

#include "host/cli/train/tryout.h"

namespace rtrain::cli {

// Prints a row for each dtype, or the document of --json. With a device's memory in gigabytes also
// prints the largest batch that fits, and how many workers fit with each strategy of
// prepare_model; 0: not requested.
void estimate(const TryoutOptions& options, double memory_gb);

}  // namespace rtrain::cli
