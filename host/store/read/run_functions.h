// host/store/read/run_functions.h: SQL functions for reading: run_is_live(name), is_final(status),
// now_ms(), config_value(config, key, ...), which equals json_extract of '$.key...' in half the
// time, metric_value(metrics, path) (host/base/codec/metric_path.h), and metric_extreme(run_id,
// updated_at, metric, 'min', 'max' or 'last') (host/store/read/metric_extremes.h).
#pragma once

#include <memory>
#include <string>

#include "host/store/db/database.h"
#include "host/store/read/metric_extremes.h"

namespace rtrain::store {

// `storage_path` must outlive the database, which must stay at its address.
void add_run_functions(Database& database, const std::string& storage_path,
                       std::shared_ptr<MetricExtremes> extremes);

}  // namespace rtrain::store
