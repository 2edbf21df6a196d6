// host/arrow/readers/example_reader.h: TFRecord files of tf.train.Example: a row for each record, a
// column for each feature, in the order of their names.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/arrow/readers/table_cursor.h"

namespace rtrain::arrow {

// What to do with features that column_types does not name: give them columns, if the first 1000
// records (32 MiB) have them, with the type that they have there; refuse them; pass over them.
enum class OtherFeatures { kInfer, kRefuse, kSkip };

struct ExampleOptions {
  // int64, float32, binary, string, lists and tensors of these.
  std::vector<std::pair<std::string, std::shared_ptr<::arrow::DataType>>> column_types;
  OtherFeatures others = OtherFeatures::kInfer;
  int64_t first_record = 0;
  int64_t block_bytes = int64_t{1} << 20;  // of records in a batch
  int64_t max_rows = int64_t{1} << 20;     // of a batch
};

// A feature that does not fit its column, or has none and is not to be passed over, is an error
// that names the record and what to say in column_types.
std::unique_ptr<TableCursor> open_examples(const std::string& path, const ExampleOptions& options);

// The number of records, whatever they hold.
int64_t count_records(const std::string& path);

}  // namespace rtrain::arrow
