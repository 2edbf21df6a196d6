// host/base/text/hex.h: bytes as hexadecimal digits, and back. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rtrain {

// Writes each byte as two lower-case digits.
std::string to_hex(std::string_view bytes);

// Returns nullopt if the text is not pairs of digits.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace rtrain
