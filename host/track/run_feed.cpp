#include "host/track/run_feed.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "host/store/db/stored_metrics.h"

namespace rtrain::track {

RunFeed::RunFeed(store::Database& database, std::string run_id, const Value& position)
    : database_(database), run_id_(std::move(run_id)) {
  if (position.is_nil()) return;
  attempt_ = position["attempt"].as_int();
  index_ = position["index"].as_int();
  media_ = position["media"].as_int();
  for (const Value& entry : position["series"].as_list()) {
    places_[entry["id"].as_int()] = {.chunk = entry["chunk"].as_int(),
                                     .points = entry["points"].as_int()};
  }
}

Value RunFeed::position() const {
  List series;
  for (const auto& [id, place] : places_) {
    series.push_back(Map{{"id", id}, {"chunk", place.chunk}, {"points", place.points}});
  }
  return Map{
      {"attempt", attempt_}, {"index", index_}, {"media", media_}, {"series", std::move(series)}};
}

std::vector<FeedItem> RunFeed::read(size_t most) {
  std::vector<FeedItem> out;
  add_reports(most, out);
  add_points(most, out);
  add_media(most, out);
  return out;
}

// An attempt begins behind the report whose checkpoint it has loaded.
void RunFeed::add_reports(size_t most, std::vector<FeedItem>& out) {
  store::Statement attempts = database_.prepare(
      "SELECT attempt, coalesce(resumed_index, -1) FROM attempts WHERE run_id = ? AND attempt >= ? "
      "ORDER BY attempt");
  store::Statement reports = database_.prepare(
      "SELECT idx, time, metrics, nonfinite FROM reports WHERE run_id = ? AND idx > ? AND rank = 0 "
      "AND attempt = ? AND superseded = 0 ORDER BY idx LIMIT ?");
  attempts.add(run_id_).add(attempt_);
  while (attempts.next() && out.size() < most) {
    const int64_t attempt = attempts.integer(0);
    reports.add(run_id_).add(attempt == attempt_ ? index_ : attempts.integer(1)).add(attempt);
    reports.add(static_cast<int64_t>(most - out.size()));
    while (reports.next()) {
      attempt_ = attempt;
      index_ = reports.integer(0);
      out.push_back(store::RankReport{
          .index = index_,
          .attempt = attempt,
          .time_ms = reports.integer(1),
          .metrics = store::load_metrics(reports.text_view(2), reports.text_view(3))});
    }
    reports.reset();
  }
}

// The last chunk of a series is written again with more points.
void RunFeed::add_points(size_t most, std::vector<FeedItem>& out) {
  store::Statement series = database_.prepare(
      "SELECT series_id, key FROM series WHERE run_id = ? AND rank = 0 ORDER BY series_id");
  store::Statement chunks = database_.prepare(
      "SELECT number, data FROM series_chunks WHERE series_id = ?1 AND (number > ?2 OR "
      "(number = ?2 AND count > ?3)) ORDER BY number");
  series.add(run_id_);
  while (series.next() && out.size() < most) {
    const std::string key = series.text(1);
    Place& place = places_[series.integer(0)];
    chunks.add(series.integer(0)).add(place.chunk).add(place.points);
    while (out.size() < most && chunks.next()) {
      const std::vector<store::SeriesPoint> points = store::decode_series(chunks.blob(1));
      const int64_t known = chunks.integer(0) == place.chunk ? place.points : 0;
      for (auto i = static_cast<size_t>(known); i < points.size(); ++i) {
        out.push_back(FeedPoint{.key = key, .point = points[i]});
      }
      place = {.chunk = chunks.integer(0), .points = static_cast<int64_t>(points.size())};
    }
    chunks.reset();
  }
}

void RunFeed::add_media(size_t most, std::vector<FeedItem>& out) {
  store::Statement query = database_.prepare(
      "SELECT media_id, attempt, time, kind, name, step, hash FROM media WHERE run_id = ? AND "
      "media_id > ? AND rank = 0 ORDER BY media_id");
  query.add(run_id_).add(media_);
  while (out.size() < most && query.next()) {
    media_ = query.integer(0);
    out.push_back(store::MediaRow{.attempt = query.integer(1),
                                  .time_ms = query.integer(2),
                                  .kind = query.text(3),
                                  .name = query.text(4),
                                  .step = query.integer(5),
                                  .data = "",
                                  .hash = query.text(6)});
  }
}

}  // namespace rtrain::track
