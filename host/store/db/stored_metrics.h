// host/store/db/stored_metrics.h: the store's form of metrics: JSON that SQLite can read even if a
// loss is NaN.
//
// NaN is written as null and infinities as ±1e999 (SQLite reads these as infinite); each of them is
// named in a second document of the same shape: {"loss": "NaN"}. Otherwise one row of invalid JSON
// would break every query on the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/loop/channel/frame.h"

namespace rtrain::store {

// Limit for one report or checkpoint in a message; leaves space for the other fields, such as
// paths.
inline constexpr size_t kMaxMetricsBytes = loop::kMaxFrameBytes - (size_t{16} << 10);

struct StoredMetrics {
  std::string json;
  std::optional<std::string> nonfinite;
};

StoredMetrics store_metrics(const Value& metrics);
Value load_metrics(std::string_view json, std::string_view nonfinite);

}  // namespace rtrain::store
