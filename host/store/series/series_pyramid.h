// host/store/series/series_pyramid.h: the summaries of a series in the store: of the parts of each
// chunk, and above them of up to kFanOut of the level below, up to one that is of all.
//
// Written with the chunks, in the same transaction. A series that an older rtrain wrote has none:
// SeriesPyramid then makes those of its chunks in memory, from all their points. It belongs to the
// thread of its database and sees the store as it was when it was made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/store/db/database.h"
#include "host/store/series/series_summary.h"

namespace rtrain {

// Within one transaction.
class PyramidWriter {
 public:
  explicit PyramidWriter(Database& database);
  // Enters a chunk, new or with more points, as encode_summaries of its parts has it, and renews
  // what lies above it.
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

  // Of all points.
  const SeriesSummary& all() const { return all_; }

  // What is to become of some points.
  enum class Look { kSkip, kWhole, kInside };
  struct Visitor {
    std::function<Look(const SeriesSummary&)> look;
    std::function<void(const SeriesSummary&)> on_whole;
    std::function<void(const SeriesPoint&)> on_point;
  };
  // Goes down wherever look() says kInside, to the points. What is whole, and points, come in the
  // order of logging.
  void visit(const Visitor& visitor);

 private:
  // Of one chunk, or of what is above.
  struct Node {
    int64_t level = 0;
    int64_t number = 0;
    SeriesSummary all;
    std::string parts;  // of a chunk, as encode_summaries has them
  };
  std::vector<Node> nodes(int64_t level, int64_t first, int64_t last);
  std::vector<Node> nodes_of_points();
  std::vector<Node> descended(std::vector<Node> nodes, int64_t level, const Visitor& visitor);
  void visit_chunk(const Node& chunk, const Visitor& visitor);

  Database* database_;  // SeriesPyramid can be moved
  int64_t series_id_;
  std::vector<Node> top_;
  SeriesSummary all_;
};

}  // namespace rtrain
