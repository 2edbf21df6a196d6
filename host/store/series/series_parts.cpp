#include "host/store/series/series_parts.h"

#include <algorithm>

#include "host/store/series/series_pyramid.h"

namespace rtrain::store {

std::vector<SeriesPart> series_parts(Database& database, const std::string& run_id,
                                     const std::string& key, std::optional<int64_t> rank) {
  Statement query = database.prepare(
      "SELECT series_id, rank, attempt FROM series WHERE run_id = ? AND key = ? AND rank = "
      "coalesce(?, rank) ORDER BY rank, attempt");
  query.add(run_id).add(key).add(rank);
  std::vector<SeriesPart> out;
  while (query.next()) {
    out.push_back(
        {.series_id = query.integer(0), .rank = query.integer(1), .attempt = query.integer(2)});
  }
  // From each rank's last attempt backwards.
  for (size_t i = out.size(); i > 1; --i) {
    const SeriesPart& later = out[i - 1];
    SeriesPart& before = out[i - 2];
    if (before.rank != later.rank) continue;
    const SeriesSummary all = SeriesPyramid(database, later.series_id).all();
    before.end = all.count == 0 ? later.end : std::min(later.end, all.min_step);
  }
  return out;
}

}  // namespace rtrain::store
