// host/track/run_feed.h: what a run has recorded since the feed was last read, for programs
// that pass it on while the run goes on.
//
// Of rank 0: reports, points of train.log, media. What a later attempt records again comes again.
// Belongs to the thread of its database.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/read/report_rows.h"
#include "host/store/runs/media_store.h"
#include "host/store/series/series_chunk.h"

namespace rtrain::track {

struct FeedPoint {
  std::string key;
  store::SeriesPoint point;
};

// Media come without their data: read_media_content().
using FeedItem = std::variant<store::RankReport, FeedPoint, store::MediaRow>;

class RunFeed {
 public:
  // `position`: of an older feed of the run; nil for all that the run has recorded.
  RunFeed(store::Database& database, std::string run_id, const Value& position);

  // Returns what is new, reports first; at most about `most` items. Empty when nothing is.
  std::vector<FeedItem> read(size_t most);
  // Where the last read() ended: a map for JSON.
  Value position() const;

 private:
  struct Place {
    int64_t chunk = 0;
    int64_t points = 0;  // of that chunk
  };

  void add_reports(size_t most, std::vector<FeedItem>& out);
  void add_points(size_t most, std::vector<FeedItem>& out);
  void add_media(size_t most, std::vector<FeedItem>& out);

  store::Database& database_;
  std::string run_id_;
  int64_t attempt_ = 1;
  int64_t index_ = -1;
  std::map<int64_t, Place> places_;  // by series
  int64_t media_ = 0;
};

}  // namespace rtrain::track
