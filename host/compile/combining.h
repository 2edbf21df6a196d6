// host/compile/combining.h: instructions of a region that one function computes in a single pass.
// The bits stay.
#pragma once

#include "host/compile/function.h"
#include "host/compile/region.h"

namespace rtrain::compile {

// The region with such instructions joined, where `functions` has the function.
Region combined(Region region, const Functions& functions);

}  // namespace rtrain::compile
