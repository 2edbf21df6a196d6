// host/cli/screen/layout.h: fits text into a number of columns, as counted by
// host/base/text/text_width.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::cli {

// For text of any width.
inline constexpr size_t kAnyWidth = static_cast<size_t>(-1);

// Shortens text that does not fit at its end, if possible between words: "a 1 …".
std::string shortened(std::string_view text, size_t width);

// Shortens for tables and pages (--json has the full text): a long value at its end, a long name in
// the middle.
std::string brief_value(std::string_view text);
std::string brief_name(std::string_view text);

// Lines of at most this width, broken at spaces and after commas. A longer word is not
// broken.
std::vector<std::string> wrapped(std::string_view text, size_t width);

// A column of a table. The first cell is the header.
struct Column {
  std::string header;
  bool right = false;  // right-aligned, for numbers
  bool key = false;    // identifies the row: repeated in continued tables
  bool fills =
      false;  // takes the rest of a line, and is shortened to that, if it is not too little
};

// The aligned lines of a table. Columns beyond the width continue below in another table that
// begins with the key columns; key columns must come first. A cell wider than the width is
// shortened. A line break in a cell, which metric names may have, is shown as \n.
std::vector<std::string> table_lines(const std::vector<Column>& columns,
                                     const std::vector<std::vector<std::string>>& rows,
                                     size_t width);

}  // namespace rtrain::cli
