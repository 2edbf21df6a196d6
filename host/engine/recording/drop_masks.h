// host/engine/recording/drop_masks.h: masks of dropout that a plan keeps as bytes, a quarter of
// their size.
//
// Such a mask is memory that bernoulli_ fills with 0 and 1, that may then be divided by a number,
// and that only products of its own size read. These become regions, in which a byte stands for 0
// or for that number.
#pragma once

#include <map>
#include <vector>

#include "host/engine/recording/record.h"

namespace rtrain::engine {

// The values that are such masks, with the number that stands for 1. The calls that allocate and
// divide them are not needed any more.
std::map<int, float> take_drop_masks(const Record& record, std::vector<bool>& is_needed);

}  // namespace rtrain::engine
