// host/plot/stroke_font.h: letters as lines, for pictures that are drawn without a font. Pure.
//
// A letter is four units wide and six high; two more are left between letters, and two below the
// baseline are for descenders.
#pragma once

#include <string_view>
#include <vector>

#include "host/plot/chart.h"

namespace rtrain::plot {

inline constexpr double kLetterAdvance = 5.4;
inline constexpr double kBaseline = 6;

// The lines of one character of ASCII, in units from the upper left of the letter. A box for any
// other.
std::vector<std::vector<PlotPoint>> letter_strokes(char letter);

// The characters of UTF-8 as letters: each that is not ASCII is one box.
std::vector<char> letters_of(std::string_view text);

}  // namespace rtrain::plot
