// host/base/codec/metric_path.h: metrics by their paths: 'val/loss' is that of {val = {loss =
// 0.5}}.
//
// Names may have a '/' in them: the metric of that very name comes before one in a map, and the one
// in the map with the shorter name first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

// Null where there is none.
const Value* find_metric(const Value& metrics, std::string_view path);

// The same in a JSON text, which is valid: the text of the value.
std::optional<std::string_view> find_metric_text(std::string_view metrics, std::string_view path);

// Calls see(path, value) for each metric that is not a map, or is an empty one, in order.
void each_metric(const Value& metrics,
                 const std::function<void(const std::string& path, const Value& value)>& see);

// The same of a JSON text: the path with quotes, as JSON has it, and the text of the value.
void each_metric_text(
    std::string_view metrics,
    const std::function<void(std::string_view path, std::string_view value)>& see);

}  // namespace rtrain
