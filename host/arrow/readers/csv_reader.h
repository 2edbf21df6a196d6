// host/arrow/readers/csv_reader.h: CSV files.
#pragma once

#include <arrow/csv/options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain::arrow {

struct CsvOptions {
  ::arrow::csv::ParseOptions parse = ::arrow::csv::ParseOptions::Defaults();
  ::arrow::csv::ConvertOptions convert = ::arrow::csv::ConvertOptions::Defaults();
  bool header = true;                                    // the first row has the names
  std::optional<std::vector<std::string>> column_names;  // without header; default f0, f1, …
  std::optional<std::vector<std::string>> columns;       // columns to read, in this order
  int64_t skip_rows = 0;                                 // lines to skip before the header
  int64_t block_bytes = int64_t{1} << 20;
};

// Types that the options do not give are determined from the first block and apply to the whole
// file. A row with too few or too many values, and a value that does not fit its column's type, is
// an error with the line. A batch has the rows of one block. A file without a line has no columns
// and no rows.
std::unique_ptr<TableCursor> open_csv(const std::string& path, CsvOptions options);

}  // namespace rtrain::arrow
