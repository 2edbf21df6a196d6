// host/store/db/stored_metrics.h: metrics as the store keeps them: JSON that SQLite can read even
// when a loss is NaN.
//
// NaN is written as null, the infinities as ±1e999 (SQLite reads them as infinite), and each of
// them is named in a second document of the same shape: {"loss": "NaN"}. One invalid row would
// break every query over the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/loop/channel/frame.h"

namespace rtrain {

// Of one report or checkpoint, as a message carries them: there is room for the rest of it, such as
// paths.
inline constexpr size_t kMaxMetricsBytes = kMaxFrameBytes - (size_t{16} << 10);

struct StoredMetrics {
  std::string json;
  std::optional<std::string> nonfinite;
};

StoredMetrics store_metrics(const Value& metrics);
Value load_metrics(std::string_view json, std::string_view nonfinite);

}  // namespace rtrain
