// host/arrow/types/plain_columns.h: converts batches between Arrow and the C data interface.
//
// The engine supports few types: bool, integers, floats, strings, binary, lists, structs and null.
// So dictionaries are decoded, decimals become float64, dates and times become int64 in their unit,
// and maps become lists of structs of key and value.
#pragma once

#include <arrow/record_batch.h>

#include <memory>

#include "host/api/arrow_batch.h"
#include "host/arrow/types/status.h"

namespace rtrain::arrow {

// Throws Error(kUnsupported) naming the column for types without such a form (unions,
// intervals).
std::shared_ptr<api::ArrowBatch> to_plain(const ::arrow::RecordBatch& batch, const FileTask& task);

// Converts the batch to Arrow's form. Shares its memory; may be called again. Columns of tensors
// become arrow.fixed_shape_tensor. Throws Error(kArgument) naming a column with strings that are
// not UTF-8.
std::shared_ptr<::arrow::RecordBatch> from_plain(const api::ArrowBatch& batch,
                                                 const FileTask& task);

}  // namespace rtrain::arrow
