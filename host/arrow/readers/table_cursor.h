// host/arrow/readers/table_cursor.h: reads a file batch by batch.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "host/api/arrow_batch.h"

namespace rtrain::arrow {

// Used by one thread at a time. Errors name the file and the position in it.
class TableCursor {
 public:
  virtual ~TableCursor() = default;

  virtual const ::arrow::Schema& schema() const = 0;
  // Returns null at the end, and after an error.
  virtual std::shared_ptr<api::ArrowBatch> next() = 0;
};

}  // namespace rtrain::arrow
