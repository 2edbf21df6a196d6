// host/base/utf8.h: telling text from other bytes.
#pragma once

#include <string_view>

namespace rtrain {

// Whether the bytes are UTF-8 as Python's decoder takes it: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

}  // namespace rtrain
