// host/arrow/readers/table_cursor.h: the batches of a file, one after the other.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "host/api/arrow_batch.h"

namespace rtrain {

// Used by one thread at a time. Errors name the file and the place in it.
class TableCursor {
 public:
  virtual ~TableCursor() = default;

  virtual const arrow::Schema& schema() const = 0;
  // Null at the end. After an error it is over.
  virtual std::shared_ptr<ArrowBatch> next() = 0;
};

}  // namespace rtrain
