// host/plot/svg_text.h: text as SVG files take it.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::plot {

// Without control characters, which XML does not allow.
std::string svg_text(std::string_view text);

}  // namespace rtrain::plot
