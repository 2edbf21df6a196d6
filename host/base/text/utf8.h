// host/base/text/utf8.h: recognizes UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace rtrain {

// Returns the number of bytes of a character that begins with this byte; 0 if none begins so.
size_t utf8_length(unsigned char first);

// Whether the bytes are UTF-8 that Python's decoder accepts: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

}  // namespace rtrain
