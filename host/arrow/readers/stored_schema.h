// host/arrow/readers/stored_schema.h: the Arrow schema that writers store in a Parquet file.
#pragma once

#include <parquet/metadata.h>

namespace rtrain::arrow {

// Makes Arrow read columns that were written from dictionaries (categoricals of pandas) as columns
// of their values. As dictionaries Arrow would read whole row groups, however few rows are
// requested, and rtrain needs the plain values anyway. Call it before a reader gets the metadata. A
// stored schema that cannot be parsed stays unchanged: Arrow then reports it.
void read_dictionaries_as_values(const parquet::FileMetaData& metadata);

}  // namespace rtrain::arrow
