// host/cli/live/flame_file.h: writes sampled stacks to the file of -o FILE: .svg a flame graph,
// .json for speedscope.app, .folded for flamegraph.pl.
#pragma once

#include <string>
#include <vector>

#include "host/profile/sampled_stacks.h"

namespace rtrain::cli {

// Throws Error(kUsage) for a name with any other ending.
void check_flame_path(const std::string& path);

// Reads a rank's file in the run's folder. Throws kEnvironment if this node does not have
// it.
profile::SampledStacks read_stacks(const std::string& path);

// Merges the threads of several ranks. REQUIRES: check_flame_path(path).
void write_flame(const std::vector<profile::SampledStacks>& ranks, const std::string& title,
                 const std::string& path);

}  // namespace rtrain::cli
