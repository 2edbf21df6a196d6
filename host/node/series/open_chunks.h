// host/node/series/open_chunks.h: the unfinished chunks of the series that a node records of its
// ranks. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/store/series/series_chunk.h"
#include "host/store/series/series_store.h"

namespace rtrain {

class OpenChunks {
 public:
  explicit OpenChunks(int attempt) : attempt_(attempt) {}

  // The chunk that holds the point: the open one of its series, with the points before. The point's
  // step is the time in seconds since 1970, so that a later attempt's points supersede none.
  SeriesChunk add(int rank, const std::string& key, int64_t time_ms, double value);

 private:
  struct Series {
    std::vector<SeriesPoint> points;
    int64_t number = 0;
  };

  int attempt_;
  std::map<std::pair<int, std::string>, Series> series_;
};

}  // namespace rtrain
