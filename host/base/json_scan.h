// host/base/json_scan.h: one value of a JSON text, found without reading the rest into memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtrain {

// The text of the value under these keys, one map within the other; nothing when it is not there.
// `json` is valid: of another text any part may be found, but nothing outside of it is read.
std::optional<std::string_view> find_in_json(std::string_view json,
                                             std::span<const std::string> keys);

}  // namespace rtrain
