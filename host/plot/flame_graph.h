// host/plot/flame_graph.h: sampled stacks as a flame graph: a self-contained SVG file.
//
// Each box is a function or a line, as wide as the time that it was on the stack; the functions
// that it called are below it. The file contains a small script: a click on a box makes it as wide
// as the picture, a search marks the boxes whose names match, and for the box under the pointer the
// full name is shown.
#pragma once

#include <string>

#include "host/profile/sampled_stacks.h"

namespace rtrain::plot {

// Returns the complete file.
std::string svg_flame_graph(const profile::SampledStacks& stacks, const std::string& title);

}  // namespace rtrain::plot
