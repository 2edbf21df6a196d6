// host/base/text/base64.h: bytes as text (RFC 4648, with padding). Pure.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

std::string to_base64(std::string_view bytes);

}  // namespace rtrain
