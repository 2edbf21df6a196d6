// host/arrow/readers/json_reader.h: JSON lines: one object a line.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain::arrow {

struct JsonOptions {
  std::vector<std::pair<std::string, std::shared_ptr<::arrow::DataType>>> column_types;
  int64_t block_bytes = int64_t{1} << 20;
};

// Types that the options do not give are determined from the first block and apply to the whole
// file: a different type or a new key later is an error with the line. Integers beyond int64 give
// uint64 if all integers of the column fit, else float64, as in CSV. A file without an object has
// no columns and no rows.
std::unique_ptr<TableCursor> open_json(const std::string& path, const JsonOptions& options);

}  // namespace rtrain::arrow
