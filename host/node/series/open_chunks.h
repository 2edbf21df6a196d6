// host/node/series/open_chunks.h: the incomplete chunks of series that a node records for its
// ranks. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/store/series/series_chunk.h"
#include "host/store/series/series_store.h"

namespace rtrain::node {

class OpenChunks {
 public:
  explicit OpenChunks(int attempt) : attempt_(attempt) {}

  // The open chunk of the series, with its earlier points and this one. The step is the time in
  // seconds since 1970, so that points of a later attempt supersede none.
  store::SeriesChunk add(int rank, const std::string& key, int64_t time_ms, double value);

 private:
  struct Series {
    std::vector<store::SeriesPoint> points;
    int64_t number = 0;
  };

  int attempt_;
  std::map<std::pair<int, std::string>, Series> series_;
};

}  // namespace rtrain::node
