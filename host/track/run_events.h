// host/track/run_events.h: what a run has recorded as TensorBoard's events: names and steps.
#pragma once

#include <string>

#include "host/store/import/event_file.h"
#include "host/store/read/report_rows.h"
#include "host/store/runs/media_store.h"
#include "host/track/point_names.h"

namespace rtrain::track {

class RunEvents {
 public:
  explicit RunEvents(store::EventFile& file) : file_(file) {}

  // Metrics that the run has reported before the first add().
  void know(const Value& metrics) { names_.add(metrics); }

  // Its numbers, with the report's index as step.
  void add(const store::RankReport& report);
  // A point of train.log, under its name in PointNames.
  void add_point(const std::string& key, int64_t step, int64_t time_ms, double value);
  // Media of rank 0 have their name as tag; those of other ranks are below "rank-1/" and so on.
  // TensorBoard has no tables: they are left out.
  void add_media(const store::MediaRow& row, const std::string& content);

 private:
  store::EventFile& file_;
  PointNames names_;
};

}  // namespace rtrain::track
