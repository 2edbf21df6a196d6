// host/base/codec/json.h: a Value as JSON text, and back.
//
// JSON has no NaN: NaN and the infinities are written as the strings "NaN", "Infinity",
// "-Infinity". Integer keys are written as decimal strings. Strings that are not UTF-8 are written
// with U+FFFD for each bad byte.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain {

// indent 0: one line. An integral float keeps its ".0", so that types survive the round trip.
std::string to_json(const Value& value, int indent = 0);

// Throws Error(kArgument) with the place of the first wrong byte, and for more than 100 levels of
// lists and maps.
Value from_json(std::string_view text);

}  // namespace rtrain
