// host/base/codec/metric_path.h: finds metrics by path: 'val/loss' names 0.5 in {val = {loss =
// 0.5}}.
//
// Names may contain '/': a metric with exactly that name comes before one in a nested map, and
// among maps the one with the shorter name comes first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

// Returns null if there is no such metric.
const Value* find_metric(const Value& metrics, std::string_view path);

// The same in a JSON text, which must be valid. Returns the text of the value.
std::optional<std::string_view> find_metric_text(std::string_view metrics, std::string_view path);

// Calls see(path, value) for each metric that is not a map or is an empty map, in order.
void each_metric(const Value& metrics,
                 const std::function<void(const std::string& path, const Value& value)>& see);

// The same for a JSON text: the path with quotes as in JSON, and the text of the value.
void each_metric_text(
    std::string_view metrics,
    const std::function<void(std::string_view path, std::string_view value)>& see);

}  // namespace rtrain
