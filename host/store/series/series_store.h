// host/store/series/series_store.h: the series that train.log wrote: compressed chunks of points,
// written and read.
//
// Writing belongs to the io thread and is fenced as everything of a run. An unfinished chunk is
// written again with more points under its number. With each chunk go summaries of its points
// (host/store/series/series_pyramid.h), which a chart is made from
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

namespace rtrain {

// A part of what one rank logged under one key, as its worker sends it, and whose it is.
struct SeriesChunk : message::Series {
  int64_t attempt = 0;
  int64_t rank = 0;
};

// Throws Error(kArgument) for a key that is too long.
void check_key(const message::Series& series);

// Of points in their order, at least one and at most kMaxChunkPoints.
message::Series chunk_of(const std::string& key, int64_t number,
                         std::span<const SeriesPoint> points);

// Enters chunks of series, within one transaction.
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

// The last value of every series whose key begins with the prefix: {key without it: value} by
// attempt and rank.
std::map<std::pair<int64_t, int64_t>, Map> last_series_values(Database& database,
                                                              const std::string& run_id,
                                                              const std::string& prefix);

// A point, and whose it is.
struct LoggedPoint {
  int64_t rank = 0;
  int64_t attempt = 0;
  bool superseded = false;  // a later attempt of the rank logged this step, or one before it, again
  SeriesPoint point;
};

// Calls see(point) for each of the key's, by rank and attempt, in the order of logging; of all
// ranks where none is given. One chunk is held at a time.
void each_logged_point(Database& database, const std::string& run_id, const std::string& key,
                       std::optional<int64_t> rank,
                       const std::function<void(const LoggedPoint&)>& see);

// The points of one rank that count.
std::vector<SeriesPoint> series_points(Database& database, const std::string& run_id,
                                       const std::string& key, int64_t rank);

// {step, time, rank, value} of every point, by rank, in the order of logging. Points that a later
// attempt logged again (the same rank, from its first step on) are left out; with `all` they are
// there, and each point has `attempt` and `superseded`.
List read_series(Database& database, const std::string& run_id, const std::string& key, bool all);

}  // namespace rtrain
