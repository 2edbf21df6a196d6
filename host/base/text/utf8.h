// host/base/text/utf8.h: telling text from other bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace rtrain {

// How many bytes a character has that begins with this one; 0: none begins with it.
size_t utf8_length(unsigned char first);

// Whether the bytes are UTF-8 as Python's decoder takes it: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

}  // namespace rtrain
