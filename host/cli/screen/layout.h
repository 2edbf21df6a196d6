// host/cli/screen/layout.h: text that fits a number of columns, as host/base/text/text_width.h
// counts them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

// Text of any width.
inline constexpr size_t kAnyWidth = static_cast<size_t>(-1);

// What does not fit is left out at the end, where possible whole parts between two spaces: "a 1 …".
std::string shortened(std::string_view text, size_t width);

// For tables and pages, which --json has whole: a long value without its end, a long name without
// its middle.
std::string brief_value(std::string_view text);
std::string brief_name(std::string_view text);

// Lines of at most this width, broken at spaces and behind commas. A word that is wider stays
// whole.
std::vector<std::string> wrapped(std::string_view text, size_t width);

// A column of a table. Its first row is the header.
struct Column {
  std::string header;
  bool right = false;  // numbers
  bool key = false;    // names the row: repeated where a table is continued below
  bool fills =
      false;  // takes the rest of a line, and is shortened to that, if it is not too little
};

// The lines of a table, aligned by what is seen. Columns beyond the width are continued below, in a
// table of their own that begins with the key columns, which come first. A cell wider than that is
// shortened. A line break in a cell, as metrics' names may have, is shown as \n.
std::vector<std::string> table_lines(const std::vector<Column>& columns,
                                     const std::vector<std::vector<std::string>>& rows,
                                     size_t width);

}  // namespace rtrain
