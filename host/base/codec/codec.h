// host/base/codec/codec.h: encodes a Value as MessagePack bytes and decodes it.
//
// Maps with integer keys keep integer keys. Decoding is safe for untrusted bytes: malformed,
// truncated or too deeply nested input is an Error(kArgument), never undefined behaviour.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

std::string encode(const Value& value);

// Exactly one value; trailing bytes are an error. Nesting is limited to 64 levels.
Value decode(std::string_view bytes);

}  // namespace rtrain
