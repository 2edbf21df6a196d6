// host/plot/flame_graph.h: sampled stacks as a flame graph: an SVG file that needs nothing else.
//
// Each box is a function or a line, as wide as the time that it was on the stack; what it has
// called is below it. The file holds a small script: a click on a box makes it as wide as the
// picture, a search marks the boxes whose names match, and a box under the pointer is named in
// whole.
#pragma once

#include <string>

#include "host/profile/sampled_stacks.h"

namespace rtrain::plot {

// The whole file.
std::string svg_flame_graph(const profile::SampledStacks& stacks, const std::string& title);

}  // namespace rtrain::plot
