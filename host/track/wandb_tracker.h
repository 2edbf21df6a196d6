// host/track/wandb_tracker.h: W&B's offline runs: folders that `wandb sync` sends.
//
// A report and each step of train.log is a row of the run's history. The rows are numbered from 0;
// metrics have `report`, the report's index, or `step`, the logged one, as their horizontal axis.
// Images, audio and histograms are included.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "host/base/codec/protobuf_message.h"
#include "host/track/point_names.h"
#include "host/track/tracker.h"
#include "host/track/wandb_log.h"

namespace rtrain::track {

class WandbTracker final : public Tracker {
 public:
  // `options`: project, entity, group, run_name (else the run's name), dir (its folder `wandb` gets
  // the run; nil for the run's folder).
  explicit WandbTracker(const Value& options);

  std::string target() const override;
  Map options() const override;
  void begin(const Value& run, const Value& kept) override;
  void send(std::span<const FeedItem> items, store::OpenStore& store) override;
  void end(const std::string& status, int64_t ended_ms) override;
  Value kept() const override;

 private:
  void begin_run(const Value& run);
  void add(int field, const ProtobufMessage& record);
  void define(const std::string& name, const char* axis);
  void add_row(const Map& row, int64_t time_ms);
  void add_media(const store::MediaRow& row, const std::string& content);
  std::string write_media(const store::MediaRow& row, const std::string& content);

  std::string project_, entity_, group_, run_name_, dir_;
  std::string run_id_;
  std::string folder_;  // of the offline run
  int64_t started_ms_ = 0;
  int64_t records_ = 0, rows_ = 0, size_ = 0;  // what kept() says of the file
  std::optional<WandbLog> log_;
  std::set<std::string> defined_;
  PointNames names_;
};

}  // namespace rtrain::track
