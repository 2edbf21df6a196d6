// host/base/codec/json.h: converts a Value to JSON text and back.
//
// JSON has no NaN: NaN and infinities are written as the strings "NaN", "Infinity", "-Infinity".
// Integer keys are written as decimal strings. In strings that are not UTF-8, U+FFFD replaces each
// invalid byte.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

// With indent 0 all is in one line. An integral float keeps its ".0", so that types survive.
std::string to_json(const Value& value, int indent = 0);

// Throws Error(kArgument) with the position of the first wrong byte, and for more than 100 levels
// of lists and maps.
Value from_json(std::string_view text);

}  // namespace rtrain
