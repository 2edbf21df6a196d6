// host/base/text/hex.h: bytes as hexadecimal digits, and back. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rtrain {

// Two lower-case digits a byte.
std::string to_hex(std::string_view bytes);

// nullopt if the text is not pairs of digits.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace rtrain
