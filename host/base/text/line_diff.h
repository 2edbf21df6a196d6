// host/base/text/line_diff.h: compares two texts line by line, as `diff -u` does. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

struct DiffLine {
  char sign = ' ';  // '-': only in the first text, '+': only in the second, ' ': in both
  std::string_view text;
};

// Returns all lines of both texts, in order, with the fewest changes (unless there are thousands).
// The texts must outlive the result.
std::vector<DiffLine> diff_lines(std::string_view a, std::string_view b);

// "--- a_name", "+++ b_name", and the changes with three lines of context. Empty for equal texts.
std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name,
                         std::string_view b_name);

}  // namespace rtrain
