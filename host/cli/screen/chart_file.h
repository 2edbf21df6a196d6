// host/cli/screen/chart_file.h: writes a chart to the picture file of -o FILE.
#pragma once

#include <string>

#include "host/plot/painter.h"

namespace rtrain::cli {

// Throws Error(kUsage) for a name that ends neither in .svg nor in .png.
void check_chart_path(const std::string& path);

// Writes the picture, and prints a line about it to stderr. REQUIRES: check_chart_path(path).
void write_chart(const plot::Chart& chart, const std::string& path,
                 const plot::PictureSize& size = {});

}  // namespace rtrain::cli
