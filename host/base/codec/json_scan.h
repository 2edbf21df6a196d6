// host/base/codec/json_scan.h: one value of a JSON text, found without reading the rest into
// memory.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtrain {

// The text of the value under these keys, one map within the other; nothing when it is not there.
// `json` is valid: of another text any part may be found, but nothing outside of it is read.
std::optional<std::string_view> find_in_json(std::string_view json,
                                             std::span<const std::string> keys);

// Calls see(name, value) for each entry of a map, in its order: texts, the name with its quotes.
// Nothing for what is not a map.
void each_json_entry(std::string_view json,
                     const std::function<void(std::string_view, std::string_view)>& see);

}  // namespace rtrain
