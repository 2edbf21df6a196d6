// host/base/codec/codec.h: encodes a Value as MessagePack bytes and decodes it.
//
// Maps with integer keys keep integer keys. Decoding is safe for untrusted bytes: malformed,
// truncated or too deeply nested input throws Error(kArgument).
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

std::string encode(const Value& value);

// Decodes exactly one value; trailing bytes are an error. At most 64 levels may be nested.
Value decode(std::string_view bytes);

}  // namespace rtrain
