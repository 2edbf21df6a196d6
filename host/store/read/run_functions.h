// host/store/read/run_functions.h: SQL functions for reading: run_is_live(name), is_final(status),
// now_ms(), config_value(config, key, ...), which equals json_extract of '$.key...' in half the
// time, and metric_value(metrics, path) (host/base/codec/metric_path.h).
#pragma once

#include <string>

#include "host/store/db/database.h"

namespace rtrain::store {

// `storage_path` must outlive the database.
void add_run_functions(Database& database, const std::string& storage_path);

}  // namespace rtrain::store
