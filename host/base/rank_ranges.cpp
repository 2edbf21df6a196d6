#include "host/base/rank_ranges.h"

#include <vector>

#include "host/base/text/text.h"

namespace rtrain {

std::string rank_ranges(std::span<const int64_t> ranks) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    parts.push_back(last == i ? cat(ranks[i]) : cat(ranks[i], "-", ranks[last]));
    i = last + 1;
  }
  return cat(ranks.size() == 1 ? "rank " : "ranks ", join(parts, ", "));
}

}  // namespace rtrain
