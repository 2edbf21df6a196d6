// host/arrow/types/plain_columns.h: batches on their way between Arrow and the C data interface.
//
// The engine knows few types: bool, integers, floats, strings, binary, lists, structs and null.
// Dictionaries are decoded, decimals become float64, dates and times int64 in their unit, maps
// lists of structs of key and value.
#pragma once

#include <arrow/record_batch.h>

#include <memory>

#include "host/api/arrow_batch.h"
#include "host/arrow/types/status.h"

namespace rtrain {

// Throws Error(kUnsupported) that names the column for types that have no such form (unions,
// intervals).
std::shared_ptr<ArrowBatch> to_plain(const arrow::RecordBatch& batch, const FileTask& task);

// The batch as Arrow's; shares its memory and may be called again. Columns of tensors become
// arrow.fixed_shape_tensor. Throws Error(kArgument) naming a column of strings that are not UTF-8.
std::shared_ptr<arrow::RecordBatch> from_plain(const ArrowBatch& batch, const FileTask& task);

}  // namespace rtrain
