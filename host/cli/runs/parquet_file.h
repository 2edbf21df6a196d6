// host/cli/runs/parquet_file.h: writes a table as a Parquet file, with Arrow.
#pragma once

#include <string>

#include "host/store/read/run_table.h"

namespace rtrain::cli {

// The file appears complete or not at all. Loads libarrow; throws Error(kEnvironment) if it is not
// installed.
void write_parquet(const store::RunTable& table, const std::string& path);

}  // namespace rtrain::cli
