// host/plot/svg_text.h: escapes text for SVG files.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::plot {

// Also removes control characters, which XML does not allow.
std::string svg_text(std::string_view text);

}  // namespace rtrain::plot
