#include "host/track/run_events.h"

#include <utility>
#include <vector>

#include "host/base/codec/json.h"
#include "host/base/codec/metric_path.h"
#include "host/base/text/text.h"

namespace rtrain::track {
namespace {

store::EventFile::Histogram histogram_of(const Value& stored) {
  const auto numbers = [](const Value& list) {
    std::vector<double> out;
    for (const Value& number : list.as_list()) out.push_back(number.as_float());
    return out;
  };
  std::vector<double> limits = numbers(stored["edges"]);
  limits.erase(limits.begin());
  return {.min = stored["min"].as_float(),
          .max = stored["max"].as_float(),
          .num = stored["num"].as_float(),
          .sum = stored["sum"].as_float(),
          .sum_squares = stored["sum_squares"].as_float(),
          .limits = std::move(limits),
          .counts = numbers(stored["counts"])};
}

}  // namespace

void RunEvents::add(const store::RankReport& report) {
  know(report.metrics);
  each_metric(report.metrics, [&](const std::string& name, const Value& value) {
    if (!value.is_number()) return;
    file_.add_scalar(name, report.index, report.time_ms, value.as_float());
  });
}

void RunEvents::add_point(const std::string& key, int64_t step, int64_t time_ms, double value) {
  file_.add_scalar(names_.of(key), step, time_ms, value);
}

void RunEvents::add_media(const store::MediaRow& row, const std::string& content) {
  const std::string tag = row.rank == 0 ? row.name : cat("rank-", row.rank, "/", row.name);
  if (row.kind == "image" || row.kind == "video") {
    file_.add_image(tag, row.step, row.time_ms, content);
  } else if (row.kind == "audio") {
    file_.add_audio(tag, row.step, row.time_ms, content);
  } else if (row.kind == "histogram") {
    file_.add_histogram(tag, row.step, row.time_ms, histogram_of(from_json(content)));
  } else if (row.kind == "text") {
    file_.add_text(tag, row.step, row.time_ms, content);
  }
}

}  // namespace rtrain::track
