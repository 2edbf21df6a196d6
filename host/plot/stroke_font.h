// host/plot/stroke_font.h: letters made of lines, for pictures without a font. Pure.
//
// A letter is four units wide and six high. There are two units between letters, and two below the
// baseline for descenders.
#pragma once

#include <string_view>
#include <vector>

#include "host/plot/chart.h"

namespace rtrain::plot {

inline constexpr double kLetterAdvance = 5.4;
inline constexpr double kBaseline = 6;

// Returns the lines of an ASCII character, in units from the upper left of the letter; a box for
// any other character.
std::vector<std::vector<PlotPoint>> letter_strokes(char letter);

// Returns the characters of a UTF-8 text as letters. Each that is not ASCII becomes one box.
std::vector<char> letters_of(std::string_view text);

}  // namespace rtrain::plot
