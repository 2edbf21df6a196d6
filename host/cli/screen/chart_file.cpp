#include "host/cli/screen/chart_file.h"

#include <iostream>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/screen/listing.h"

namespace rtrain::cli {

void check_chart_path(const std::string& path) {
  if (path.ends_with(".svg") || path.ends_with(".png")) return;
  throw Error(Code::kUsage, cat("-o ", path, ": expected a name that ends in .svg or .png"));
}

void write_chart(const plot::Chart& chart, const std::string& path, const plot::PictureSize& size) {
  write_output(
      path, path.ends_with(".svg") ? plot::svg_chart(chart, size) : plot::png_chart(chart, size));
  std::cerr << "wrote " << path << "\n";
}

}  // namespace rtrain::cli
