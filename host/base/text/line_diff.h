// host/base/text/line_diff.h: how two texts differ, line by line, as `diff -u` shows it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct DiffLine {
  char sign = ' ';  // '-': only in the first text, '+': only in the second
  std::string_view text;
};

// All lines of both, in order, with few changes: the fewest, unless there are thousands. The texts
// outlive the result.
std::vector<DiffLine> diff_lines(std::string_view a, std::string_view b);

// "--- a_name", "+++ b_name", and the changes with three lines around them. Empty for equal texts.
std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name,
                         std::string_view b_name);

}  // namespace rtrain
