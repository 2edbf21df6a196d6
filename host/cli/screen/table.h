// host/cli/screen/table.h: aligns cells in columns, in lines of a given width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rtrain::cli {

// A column of a table. The first cell is the header.
struct Column {
  std::string header;
  bool right = false;  // right-aligned, for numbers
  bool key = false;    // identifies the row: repeated in continued tables
  bool fills =
      false;         // takes the rest of a line, and is shortened to that, if it is not too little
  size_t spare = 0;  // left out if the line is full, the largest number first; 0: never
};

struct Table {
  std::vector<std::string> lines;
  size_t left_out = 0;  // the number of spare columns that are not in the lines
};

// Aligns the columns. Those beyond the width continue below in another table that begins with the
// key columns; key columns must come first. A cell wider than the width is shortened: a key where
// that leaves most keys distinct, others at their end. A line break in a cell, which metric names
// may have, is shown as \n.
Table table_of(const std::vector<Column>& columns,
               const std::vector<std::vector<std::string>>& rows, size_t width);

}  // namespace rtrain::cli
