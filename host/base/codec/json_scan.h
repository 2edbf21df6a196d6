// host/base/codec/json_scan.h: finds values in a JSON text without building a tree.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtrain {

// Returns the text of the value under these keys, each inside the map of the one before; nullopt if
// it does not exist. `json` must be valid. For invalid JSON the result is undefined, but no byte
// outside of it is read.
std::optional<std::string_view> find_in_json(std::string_view json,
                                             std::span<const std::string> keys);

// Calls see(name, value) for each entry of a map, in order, with their texts; the name has its
// quotes. Does nothing if the text is not a map.
void each_json_entry(std::string_view json,
                     const std::function<void(std::string_view, std::string_view)>& see);

}  // namespace rtrain
