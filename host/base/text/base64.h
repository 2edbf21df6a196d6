// host/base/text/base64.h: bytes as text (RFC 4648, with padding). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rtrain {

std::string to_base64(std::string_view bytes);

// The bytes; nullopt if the text is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace rtrain
