// host/dash/open_metrics.h: the runs that are not over, in the text that Prometheus and its like
// collect (OpenMetrics 1.0). Pure.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain::dash {

inline constexpr const char* kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// `runs`: as LiveRuns has them. `by_status`: {status: number} of all runs of the store.
// `resources`: as read_resources has them, or nil. Metrics of a report have labels, not names, of
// their own: their names in a script need not be names there.
std::string open_metrics_text(const List& runs, const Map& by_status, const Value& resources);

}  // namespace rtrain::dash
