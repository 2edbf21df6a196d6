// host/store/series/series_pyramid.h: a series' summaries in the store: at the bottom for the parts
// of each chunk, above for up to kFanOut summaries of the level below, up to one for the whole
// series.
//
// They are written with the chunks, in the same transaction. A series of an older rtrain has none:
// SeriesPyramid then computes summaries of its chunks in memory, from all points. Belongs to the
// thread of its database and shows the store's state at its creation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/db/database.h"
#include "host/store/series/series_summary.h"

namespace rtrain::store {

// Used inside one transaction.
class PyramidWriter {
 public:
  explicit PyramidWriter(Database& database);
  // Adds a chunk, or replaces one that has more points now, and updates the summaries above.
  // `parts`: encode_summaries of the chunk's parts.
  void add(int64_t series_id, int64_t number, std::string_view parts);

 private:
  void put(int64_t series_id, int64_t level, int64_t number, int64_t chunks,
           const SeriesSummary& all, std::optional<Blob> parts);
  Statement put_;
  Statement below_;
};

class SeriesPyramid {
 public:
  SeriesPyramid(Database& database, int64_t series_id);

  // The summary of all points.
  const SeriesSummary& all() const { return all_; }

  // How to visit a range of points: not at all, as one summary, or in more detail.
  enum class Look { kSkip, kWhole, kInside };
  struct Visitor {
    std::function<Look(const SeriesSummary&)> look;
    std::function<void(const SeriesSummary&)> on_whole;
    std::function<void(const SeriesPoint&)> on_point;
  };
  // Descends wherever look() returns kInside, down to points. Calls on_whole and on_point in the
  // order of logging.
  void visit(const Visitor& visitor);

 private:
  // The summary of one chunk, or of several nodes of the level below.
  struct Node {
    int64_t level = 0;
    int64_t number = 0;
    SeriesSummary all;
    std::string parts;  // for a chunk: encode_summaries of its parts
  };
  std::vector<Node> nodes(int64_t level, int64_t first, int64_t last);
  std::vector<Node> nodes_of_points();
  std::vector<Node> descended(std::vector<Node> nodes, int64_t level, const Visitor& visitor);
  void visit_chunk(const Node& chunk, const Visitor& visitor);

  Database* database_;  // a pointer, so that SeriesPyramid can be moved
  int64_t series_id_;
  std::vector<Node> top_;
  SeriesSummary all_;
};

}  // namespace rtrain::store
