// host/arrow/readers/json_reader.h: JSON lines: one object a line.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain {

struct JsonOptions {
  std::vector<std::pair<std::string, std::shared_ptr<arrow::DataType>>> column_types;
  int64_t block_bytes = int64_t{1} << 20;
};

// The types of columns that the options do not name come from the first block, and hold for the
// whole file: another type or name later is an error with the line. Integers of which one is beyond
// int64 are uint64 where that holds all of them, else float64, as in CSV. A file without an object
// has no columns and no rows.
std::unique_ptr<TableCursor> open_json(const std::string& path, const JsonOptions& options);

}  // namespace rtrain
