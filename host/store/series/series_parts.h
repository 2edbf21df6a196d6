// host/store/series/series_parts.h: the parts of a series, one for each attempt of each rank, and
// which of their points are valid.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/store/db/database.h"

namespace rtrain::store {

struct SeriesPart {
  int64_t series_id = 0;
  int64_t rank = 0;
  int64_t attempt = 0;
  // From this step on a later attempt has logged again, so the points are not valid.
  int64_t end = std::numeric_limits<int64_t>::max();
};

// Sorted by rank and attempt; of all ranks if none is given.
std::vector<SeriesPart> series_parts(Database& database, const std::string& run_id,
                                     const std::string& key, std::optional<int64_t> rank);

}  // namespace rtrain::store
