// host/arrow/readers/stored_schema.h: the Arrow schema that a writer keeps in a Parquet file.
#pragma once

#include <parquet/metadata.h>

namespace rtrain {

// Makes Arrow read columns that were written from dictionaries (categoricals of pandas) as columns
// of their values. As dictionaries it reads a row group whole, however few rows are asked for, and
// the values come here without one anyway. Call it before a reader gets the metadata. A stored
// schema that cannot be read is left alone: Arrow says so.
void read_dictionaries_as_values(const parquet::FileMetaData& metadata);

}  // namespace rtrain
