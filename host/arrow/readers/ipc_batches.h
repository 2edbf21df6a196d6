// host/arrow/readers/ipc_batches.h: an Arrow file or stream (IPC, Feather version 2) whose batches
// are read in any order. open_ipc (host/arrow/readers/ipc_reader.h) reads from beginning to end.
//
// Used by one thread at a time. Errors name the file and the batch.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/readers/ipc_index.h"
#include "host/arrow/readers/table_cursor.h"

namespace rtrain::arrow {

class IpcBatches : public std::enable_shared_from_this<IpcBatches> {
 public:
  // Throws Error(kNotFound) if the file does not exist, Error(kArgument) if it is neither format or
  // a part of it is missing.
  explicit IpcBatches(std::string path);

  const ::arrow::Schema& schema() const { return *schema_; }
  int64_t num_batches() const { return static_cast<int64_t>(index_.batches.size()); }
  // Both throw Error(kArgument) for a number out of range.
  int64_t batch_rows(int64_t batch) const { return message(batch).rows; }
  int64_t batch_bytes(int64_t batch) const { return message(batch).body_bytes; }

  // Reads `count` batches from `first` on, with `columns` in this order, or all. Small batches are
  // returned together, up to max_rows rows. Validates every batch in full. Throws Error(kArgument)
  // for an unknown column.
  std::unique_ptr<TableCursor> read(int64_t first, int64_t count,
                                    const std::optional<std::vector<std::string>>& columns,
                                    int64_t max_rows);

 private:
  friend class IpcBatchCursor;

  const IpcMessage& message(int64_t batch) const;

  std::string path_;
  std::shared_ptr<::arrow::io::RandomAccessFile> file_;
  std::shared_ptr<::arrow::Schema> schema_;
  IpcIndex index_;
};

}  // namespace rtrain::arrow
