// host/base/codec/codec.h: a Value as MessagePack bytes, and back.
//
// Integer-keyed maps keep integer keys. Decoding is for foreign bytes: every malformed, truncated
// or over-deep input is an Error(kArgument), never undefined behaviour.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

std::string encode(const Value& value);

// Exactly one value; trailing bytes are an error. Nesting is limited to 64 levels.
Value decode(std::string_view bytes);

}  // namespace rtrain
