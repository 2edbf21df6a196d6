#include "host/node/series/open_chunks.h"

namespace rtrain::node {
namespace {

// An open chunk is written again with each of its points.
constexpr size_t kChunkPoints = 128;
constexpr int64_t kMsPerS = 1000;

}  // namespace

store::SeriesChunk OpenChunks::add(int rank, const std::string& key, int64_t time_ms,
                                   double value) {
  Series& series = series_[{rank, key}];
  if (series.points.size() == kChunkPoints) {
    series.points.clear();
    ++series.number;
  }
  series.points.push_back({time_ms / kMsPerS, time_ms, value});
  store::SeriesChunk chunk{store::chunk_of(key, series.number, series.points)};
  chunk.attempt = attempt_;
  chunk.rank = rank;
  return chunk;
}

}  // namespace rtrain::node
