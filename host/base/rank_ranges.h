// host/base/rank_ranges.h: formats ranks for messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rtrain {

// "rank 1", "ranks 0-2, 5". REQUIRES: the ranks are sorted.
std::string rank_ranges(std::span<const int64_t> ranks);

}  // namespace rtrain
