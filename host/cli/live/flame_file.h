// host/cli/live/flame_file.h: sampled stacks as the file that -o FILE asks for: .svg a flame graph,
// .json for speedscope.app, .folded for flamegraph.pl.
#pragma once

#include <string>
#include <vector>

#include "host/profile/sampled_stacks.h"

namespace rtrain {

// Throws Error(kUsage) for a name with another ending.
void check_flame_path(const std::string& path);

// What a rank has written, which lies in the run's folder. Throws kEnvironment where this host does
// not have it.
SampledStacks read_stacks(const std::string& path);

// Of several ranks: their threads together. REQUIRES: check_flame_path(path).
void write_flame(const std::vector<SampledStacks>& ranks, const std::string& title,
                 const std::string& path);

}  // namespace rtrain
