// host/text/patterns/pattern_field.h: the field 'pattern' of a component: {"String": …} or
// {"Regex": …}.
#pragma once

#include "host/text/fields/fields.h"
#include "host/text/patterns/pattern.h"

namespace rtrain::text {

// Throws Error(kArgument) for anything else, and for an expression that is wrong.
PatternPointer pattern_field(const Fields& fields);

}  // namespace rtrain::text
