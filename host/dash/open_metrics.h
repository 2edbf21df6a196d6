// host/dash/open_metrics.h: the runs that are not over, in the text format of Prometheus
// (OpenMetrics 1.0). Pure.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain::dash {

inline constexpr const char* kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// `runs` are LiveRuns', `by_status` is {status: number} of all runs of the store, and `resources`
// are those of read_resources, or nil. Names of a report's metrics become labels, since a script
// may use names that OpenMetrics does not allow.
std::string open_metrics_text(const List& runs, const Map& by_status, const Value& resources);

}  // namespace rtrain::dash
