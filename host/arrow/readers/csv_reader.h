// host/arrow/readers/csv_reader.h: CSV files.
#pragma once

#include <arrow/csv/options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain {

struct CsvOptions {
  arrow::csv::ParseOptions parse = arrow::csv::ParseOptions::Defaults();
  arrow::csv::ConvertOptions convert = arrow::csv::ConvertOptions::Defaults();
  bool header = true;                                    // the first row has the names
  std::optional<std::vector<std::string>> column_names;  // else: of all columns; f0, f1, … without
  std::optional<std::vector<std::string>> columns;       // those wanted, in this order
  int64_t skip_rows = 0;                                 // lines before everything else
  int64_t block_bytes = int64_t{1} << 20;
};

// The types of columns that the options do not name come from the first block, and hold for the
// whole file. A row with too few or too many values, and a value that does not fit its column, is
// an error with the line. A batch is a block's rows. A file without a line has no columns and no
// rows.
std::unique_ptr<TableCursor> open_csv(const std::string& path, CsvOptions options);

}  // namespace rtrain
