// host/plot/flame_graph.h: sampled stacks as a flame graph: a self-contained SVG file.
//
// Each box is a function or a line, as wide as the time that it was on the stack; the functions
// that it called are below it. The file contains a small script: a click on a box makes it as wide
// as the picture, a search marks the boxes whose names match, and for the box under the pointer the
// full name is shown.
#pragma once

#include <string>
#include <vector>

#include "host/profile/sampled_stacks.h"

namespace rtrain::plot {

// One box of a flame graph.
struct FlameBox {
  std::string name = {};
  int depth = 0;     // 0: the box of all samples
  double begin = 0;  // left edge, 0 to 1
  double width = 1;  // 0 to 1
  double seconds = 0;
  std::string colour = {};  // for CSS
};

// Returns each box before the boxes that it calls; of neighbours the widest is first. Omits boxes
// that are too narrow to be seen.
std::vector<FlameBox> flame_boxes(const profile::SampledStacks& stacks);

// Returns the complete file.
std::string svg_flame_graph(const profile::SampledStacks& stacks, const std::string& title);

}  // namespace rtrain::plot
