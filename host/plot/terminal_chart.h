// host/plot/terminal_chart.h: a chart of braille characters, each two dots wide and four high.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/plot/chart.h"

namespace rtrain::plot {

struct ChartSize {
  size_t columns = 80;
  size_t rows = 20;  // of the whole chart without the legend
};

// Returns the lines: the title, the curves with axes and ticks, and a legend with each curve's
// last, smallest and largest value. Without colours, the curves are dashed differently.
std::vector<std::string> terminal_chart(const Chart& chart, ChartSize size, bool colours);

}  // namespace rtrain::plot
