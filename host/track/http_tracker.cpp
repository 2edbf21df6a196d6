#include "host/track/http_tracker.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/json.h"

namespace rtrain::track {
namespace {

Map item_of(const store::RankReport& report) {
  return Map{{"type", "report"},
             {"index", report.index},
             {"attempt", report.attempt},
             {"time", time_text(report.time_ms)},
             {"metrics", report.metrics}};
}

Map item_of(const FeedPoint& logged) {
  return Map{{"type", "point"},
             {"key", logged.key},
             {"step", logged.point.step},
             {"time", time_text(logged.point.time_ms)},
             {"value", logged.point.value}};
}

Map item_of(const store::MediaRow& row) {
  return Map{{"type", "media"},
             {"kind", row.kind},
             {"name", row.name},
             {"step", row.step},
             {"time", time_text(row.time_ms)},
             {"hash", row.hash}};
}

}  // namespace

HttpTracker::HttpTracker(const Value& options)
    : service_("the server", options["url"].as_string(), options) {}

void HttpTracker::begin(const Value& run, const Value&) {
  run_ = run["name"].as_string();
  run_id_ = run["run_id"].as_string();
  post("begin", run);
}

void HttpTracker::send(std::span<const FeedItem> items, store::OpenStore&) {
  List list;
  for (const FeedItem& item : items) {
    list.push_back(std::visit([](const auto& each) { return item_of(each); }, item));
  }
  post("items", std::move(list));
}

void HttpTracker::end(const std::string& status, int64_t ended_ms) {
  post("end", Map{{"status", status}, {"time", time_text(ended_ms)}});
}

void HttpTracker::post(const char* type, Value value) const {
  Map body{{"run", run_}, {"run_id", run_id_}, {"type", type}};
  body.set(type, std::move(value));
  service_.call("POST", "", to_json(body));
}

}  // namespace rtrain::track
