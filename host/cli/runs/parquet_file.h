// host/cli/runs/parquet_file.h: a table as a Parquet file, written by Arrow.
#pragma once

#include <string>

#include "host/store/read/run_table.h"

namespace rtrain {

// The file appears complete or not at all. Loads libarrow; throws Error(kEnvironment) where there
// is none.
void write_parquet(const RunTable& table, const std::string& path);

}  // namespace rtrain
