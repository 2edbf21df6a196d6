// host/store/series/series_store.h: writes and reads the series of train.log: compressed chunks of
// points.
//
// Writes run on the io thread and are fenced, like all writes of a run. An incomplete chunk is
// written again with more points under the same number. Each chunk has summaries of its points
// (host/store/series/series_pyramid.h), from which charts are drawn
// (host/store/series/series_chart.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/loop/messages/to_controller.h"
#include "host/store/claim/run_claim.h"
#include "host/store/series/series_chunk.h"
#include "host/store/series/series_pyramid.h"

namespace rtrain::store {

// A part of a rank's series under one key, as its worker sends it, with the rank and attempt.
struct SeriesChunk : message::Series {
  int64_t attempt = 0;
  int64_t rank = 0;
};

// Throws Error(kArgument) for a key that is too long.
void check_key(const message::Series& series);

// Makes a chunk of points in their order: 1 to kMaxChunkPoints of them.
message::Series chunk_of(const std::string& key, int64_t number,
                         std::span<const SeriesPoint> points);

// Writes chunks of series, inside one transaction.
class ChunkWriter {
 public:
  explicit ChunkWriter(Database& database);
  void add(int64_t series_id, const message::Series& chunk);

 private:
  Statement insert_;
  PyramidWriter pyramid_;
};

// One transaction.
void add_series(RunClaim& claim, std::span<const SeriesChunk> chunks);

// The keys of a run, sorted.
std::vector<std::string> series_keys(Database& database, const std::string& run_id);

// The last value of every series whose key begins with the prefix: {key without prefix: value}, by
// attempt and rank.
std::map<std::pair<int64_t, int64_t>, Map> last_series_values(Database& database,
                                                              const std::string& run_id,
                                                              const std::string& prefix);

// A point with its rank and attempt.
struct LoggedPoint {
  int64_t rank = 0;
  int64_t attempt = 0;
  SeriesPoint point;
};

// Calls see(point) for each valid point of the key, by rank and attempt, in the order of logging;
// of all ranks if none is given. A point is not valid if a later attempt of the rank has logged its
// step or an earlier one again. Holds one chunk at a time.
void each_valid_point(Database& database, const std::string& run_id, const std::string& key,
                      std::optional<int64_t> rank,
                      const std::function<void(const LoggedPoint&)>& see);

// The valid points of one rank.
std::vector<SeriesPoint> series_points(Database& database, const std::string& run_id,
                                       const std::string& key, int64_t rank);

// {step, time, rank, value} of every valid point, by rank, in the order of logging. With `all` the
// others are included, and each point has `attempt` and `superseded`.
List read_series(Database& database, const std::string& run_id, const std::string& key, bool all);

}  // namespace rtrain::store
