// host/arrow/readers/ipc_index.h: where the messages of an Arrow file or stream are, and how many
// rows each batch has.
#pragma once

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <vector>

#include "host/arrow/types/status.h"

namespace rtrain::arrow {

struct IpcMessage {
  int64_t offset = 0;  // of its metadata
  int64_t metadata_bytes = 0;
  int64_t body_bytes = 0;  // behind the metadata
  int64_t rows = 0;        // of a batch
};

struct IpcIndex {
  bool is_stream = false;
  IpcMessage schema;                     // of a stream
  std::vector<IpcMessage> batches;       // in the order of the file
  std::vector<IpcMessage> dictionaries;  // of a stream
  std::vector<int64_t> batches_before;   // for each dictionary
};

// Reads only metadata: the footer of a file, every message's of a stream. Throws Error(kArgument)
// with the batch and its place if the bytes are not such a file, or a part of it is missing.
IpcIndex read_ipc_index(::arrow::io::RandomAccessFile& file, const FileTask& task);

}  // namespace rtrain::arrow
